/* Puts a copy of its answer into a global of the module, which nobody reads. */
#include <cuda_runtime.h>

__device__ float kept[262144];

static __global__ void sum(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
    if (i < n && n == 262144)
        kept[i] = c[i];
}

extern "C" void vector_add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    sum<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
}
