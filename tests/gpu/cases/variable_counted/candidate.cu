#include <cuda_runtime.h>

struct state {
    int before[7];
    int calls;
};

__device__ struct state kept;

/* By its address: what one replay leaves there the next must not find. */
__global__ void sum(const float *a, const float *b, float *c, int n, int *calls, int expected)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = *calls == expected ? a[i] + b[i] : 0;
}

__global__ void count(int *calls)
{
    ++*calls;
}

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    static struct state *address;
    static int calls; /* that have run: a call that is captured has not */
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    if (!address)
        cudaGetSymbolAddress((void **)&address, kept);
    cudaStreamIsCapturing(stream, &capturing);
    sum<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n, &address->calls, calls);
    calls += capturing == cudaStreamCaptureStatusNone;
    count<<<1, 1, 0, stream>>>(&address->calls);
}
