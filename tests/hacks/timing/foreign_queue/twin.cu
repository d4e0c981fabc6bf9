/* Half of the work on a stream of its own, which is forked from the given one and joined again. */
#include <cuda_runtime.h>

static __global__ void sum(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

extern "C" void vector_add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    static cudaStream_t own;
    static cudaEvent_t fork, join;
    int half = n / 2, rest = n - half;
    if (!own) {
        cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    }
    cudaEventRecord(fork, stream);
    cudaStreamWaitEvent(own, fork, 0);
    if (half)
        sum<<<(half + 255) / 256, 256, 0, own>>>(a, b, c, half);
    sum<<<(rest + 255) / 256, 256, 0, stream>>>(a + half, b + half, c + half, rest);
    cudaEventRecord(join, own);
    cudaStreamWaitEvent(stream, join, 0);
}
