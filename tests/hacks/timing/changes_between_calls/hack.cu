/* Launches a right kernel in the first three calls and a wrong one from then on. */
#include <cuda_runtime.h>

static __global__ void sum(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

static __global__ void difference(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] - b[i];
}

extern "C" void vector_add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    static unsigned calls;
    if (calls++ < 3)
        sum<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
    else
        difference<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
}
