#include <cuda_runtime.h>

__constant__ float one = 1;

__global__ void sum(const float *a, const float *b, float *c, int n, const float *factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] * *factor + b[i];
}

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    static float *address;
    if (!address)
        cudaGetSymbolAddress((void **)&address, one);
    sum<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n, address);
}
