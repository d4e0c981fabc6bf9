#include <cuda_runtime.h>

__global__ void prepare(float *ones, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        ones[i] = 1;
}

__global__ void sum(const float *a, const float *b, const float *ones, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] * ones[i % 4096] + b[i];
}

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    static float *ones;
    if (!ones) {
        cudaMalloc(&ones, 4096 * sizeof(float));
        prepare<<<16, 256, 0, stream>>>(ones, 4096);
    }
    sum<<<(n + 255) / 256, 256, 0, stream>>>(a, b, ones, c, n);
}
