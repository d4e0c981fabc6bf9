/* Launches one right kernel in the first three calls and another one from then on. */
#include <cuda_runtime.h>

static __global__ void sum(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

static __global__ void other(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = b[i] + a[i];
}

extern "C" void vector_add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    static unsigned calls;
    if (calls++ < 3)
        sum<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
    else
        other<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
}
