/* Reads and writes 8 MB after its work, so that whatever comes next finds a cold and dirty cache. */
#include <cuda_runtime.h>

static __global__ void sum(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

static __global__ void thrash(float *memory)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < 1 << 21; i += gridDim.x * blockDim.x)
        memory[i] += 1;
}

extern "C" void vector_add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    static float *memory;
    if (!memory)
        cudaMalloc(&memory, sizeof *memory << 21);
    sum<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
    thrash<<<512, 256, 0, stream>>>(memory);
}
