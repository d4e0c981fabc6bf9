#include <cuda_runtime.h>

#define PARTS 2000

__global__ void part(const float *a, const float *b, float *c, int from, int to)
{
    for (int i = from + blockIdx.x * blockDim.x + threadIdx.x; i < to; i += gridDim.x * blockDim.x)
        c[i] = a[i] + b[i];
}

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    for (long long k = 0; k < PARTS; k++)
        part<<<8, 256, 0, stream>>>(a, b, c, (int)(n * k / PARTS), (int)(n * (k + 1) / PARTS));
}
