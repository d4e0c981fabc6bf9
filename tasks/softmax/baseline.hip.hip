/* A block for each row, which is read three times: for its maximum, the sum of exponentials, and the results. */
#include <hip/hip_runtime.h>

#include <math.h>

#define THREADS 256

struct largest {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

struct sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};

/* For all threads of a block, which is whole warps. */
template <class Op> __device__ float reduce_block(float v, float nothing, Op op)
{
    __shared__ float parts[1024 / warpSize];
    const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize, warps = blockDim.x / warpSize;
    for (int offset = warpSize / 2; offset > 0; offset >>= 1)
        v = op(v, __shfl_xor(v, offset));
    __syncthreads(); /* whoever still reads the parts of the last time */
    if (lane == 0)
        parts[warp] = v;
    __syncthreads();
    v = lane < warps ? parts[lane] : nothing;
    for (int offset = warpSize / 2; offset > 0; offset >>= 1)
        v = op(v, __shfl_xor(v, offset));
    return v;
}

__global__ void softmax_rows(const float *x, float *y, int cols)
{
    const float *from = x + (size_t)blockIdx.x * cols;
    float *to = y + (size_t)blockIdx.x * cols;
    float most = -INFINITY, total = 0;
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        most = fmaxf(most, from[i]);
    most = reduce_block(most, -INFINITY, largest());
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        total += expf(from[i] - most);
    total = reduce_block(total, 0, sum());
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        to[i] = expf(from[i] - most) / total;
}

extern "C" void softmax(const float *x, float *y, int rows, int cols, hipStream_t stream)
{
    hipLaunchKernelGGL(softmax_rows, dim3(rows), dim3(THREADS), 0, stream, x, y, cols);
}
