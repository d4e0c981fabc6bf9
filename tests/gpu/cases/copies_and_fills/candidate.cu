#include <cuda_runtime.h>

__global__ void accumulate(const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] += b[i];
}

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    cudaMemsetAsync(c, 0xff, n * sizeof(float), stream);
    cudaMemcpyAsync(c, a, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    accumulate<<<(n + 255) / 256, 256, 0, stream>>>(b, c, n);
}
