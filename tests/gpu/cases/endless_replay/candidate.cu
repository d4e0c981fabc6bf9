#include <cuda_runtime.h>

__device__ float seen;

__global__ void remember(const float *a)
{
    seen = a[0];
}

__global__ void sum(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    while (*(volatile const float *)a != *(volatile float *)&seen)
        ;
    if (i < n)
        c[i] = a[i] + b[i];
}

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    static int last;
    if (last != n)
        remember<<<1, 1, 0, stream>>>(a);
    last = n;
    sum<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
}
