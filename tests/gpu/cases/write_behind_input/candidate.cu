#include <cuda_runtime.h>

__global__ void sum(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
    if (i == 0)
        ((float *)a)[n] = 1;
}

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    sum<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
}
