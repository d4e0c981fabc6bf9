#include <cuda_runtime.h>

__global__ void sum(const float *a, const float *b, float *c, int n, const float *one)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] * *one + b[i];
}

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    static float *one;
    if (!one) {
        cudaMallocHost(&one, sizeof *one);
        *one = 1;
    }
    sum<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n, one);
}
