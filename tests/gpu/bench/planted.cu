/*
 * tests/profile/planted.c for CUDA, with NVTX as it ships: 5 us of computing in a range of its own, memory made and given back
 * for 20 us, three questions about the device, ten launches in each call.
 */
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <time.h>

#define SPIN_NS 5000
#define MEMORY_NS 20000
#define QUERIES 3
#define LAUNCHES 10

static __global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

static long long now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

extern "C" void vector_add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    nvtxRangePushA("planted.spin");
    for (long long end = now() + SPIN_NS; now() < end;)
        ;
    nvtxRangePop();

    nvtxRangePushA("planted.memory");
    for (long long end = now() + MEMORY_NS; now() < end;) {
        void *scratch;
        cudaMalloc(&scratch, 4096);
        cudaFree(scratch);
    }
    nvtxRangePop();

    nvtxRangePushA("planted.queries");
    for (int i = 0; i < QUERIES; i++) {
        int value;
        cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0);
    }
    nvtxRangePop();

    nvtxRangePushA("backend.submit");
    for (int i = 0; i < LAUNCHES; i++)
        add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
    nvtxRangePop();
}
