#include <cuda_runtime.h>

__constant__ float weights[2];
__device__ float offset;
__device__ float kept = 3;

__global__ void sum(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = (a[i] * weights[0] + b[i] * weights[1]) * (offset - kept);
}

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    static bool ready;
    if (!ready) {
        const float one[2] = {1, 1}, four = 4;
        cudaMemcpyToSymbol(weights, one, sizeof one);
        cudaMemcpyToSymbol(offset, &four, sizeof four);
    }
    ready = true;
    sum<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
}
