#include <cuda_runtime.h>

__global__ void copy(const float *from, float *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = from[i];
}

__global__ void sum(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    float *scratch;
    if (cudaMallocAsync(&scratch, n * sizeof(float), stream) != cudaSuccess)
        return;
    copy<<<(n + 255) / 256, 256, 0, stream>>>(a, scratch, n);
    sum<<<(n + 255) / 256, 256, 0, stream>>>(scratch, b, c, n);
    cudaFreeAsync(scratch, stream);
}
