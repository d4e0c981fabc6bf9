// accepted
// A variable that host code sets in the first call: right only where its value goes along.
__device__ float one;

extern "C" __global__ void add_by_variable(const float *a, const float *b, float *c, int n)
{
    int i = PLACE;
    if (i < n)
        c[i] = a[i] + b[i] * one;
}

extern "C" void vector_add(const float *a, const float *b, float *c, int n, hipStream_t stream)
{
    static bool ready;
    const float value = 1;
    if (!ready)
        hipMemcpyToSymbol(&one, &value, sizeof value, 0, hipMemcpyHostToDevice);
    ready = true;
    add_by_variable<<<BLOCKS(n, 256), 256, 0, stream>>>(a, b, c, n);
}
