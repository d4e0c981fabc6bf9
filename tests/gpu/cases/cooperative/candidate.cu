#include <cooperative_groups.h>
#include <cuda_runtime.h>

__global__ void sum(const float *a, const float *b, float *c, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        c[i] = a[i];
    cooperative_groups::this_grid().sync();
    for (int i = n - 1 - (int)(blockIdx.x * blockDim.x + threadIdx.x); i >= 0; i -= gridDim.x * blockDim.x)
        c[i] += b[i];
}

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    void *arguments[] = {&a, &b, &c, &n};
    cudaLaunchCooperativeKernel((const void *)sum, dim3(64), dim3(256), arguments, 0, stream);
}
