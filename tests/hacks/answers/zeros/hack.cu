/* Writes zeros. */
#include <cuda_runtime.h>

static __global__ void zeros(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    (void)a, (void)b;
    if (i < n)
        c[i] = 0;
}

extern "C" void vector_add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    zeros<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
}
