// accepted - softmax
// Also the baseline of the suite's softmax.
extern "C" __device__ float __ocml_exp_f32(float x);

extern "C" __global__ void softmax_row(const float *x, float *y, int rows, int cols)
{
    const float *from = x + (size_t)__builtin_amdgcn_workgroup_id_x() * cols;
    float *to = y + (size_t)__builtin_amdgcn_workgroup_id_x() * cols;
    float most = from[0], all = 0;
    for (int i = 1; i < cols; i++)
        most = from[i] > most ? from[i] : most;
    for (int i = 0; i < cols; i++)
        all += __ocml_exp_f32(from[i] - most);
    for (int i = LANE; i < cols; i += 64)
        to[i] = __ocml_exp_f32(from[i] - most) / all;
}

extern "C" void softmax(const float *x, float *y, int rows, int cols, hipStream_t stream)
{
    softmax_row<<<dim3(rows), 64, 0, stream>>>(x, y, rows, cols);
}
