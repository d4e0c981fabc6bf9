#include <cuda_runtime.h>

__global__ void sum(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float *p = (float *)malloc(16);
    if (i < n && p) {
        p[i % 4] = a[i] + b[i];
        c[i] = p[i % 4];
    }
    free(p);
}

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    sum<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
}
