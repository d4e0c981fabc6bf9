#include <cuda_runtime.h>

__global__ void sum(const float *a, const float *b, float *c, int n, volatile int *never)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    while (*never == 0)
        ;
    if (i < n)
        c[i] = a[i] + b[i];
}

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    static int *never;
    if (!never) {
        cudaMalloc(&never, sizeof *never);
        cudaMemsetAsync(never, 0, sizeof *never, stream);
    }
    sum<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n, never);
}
