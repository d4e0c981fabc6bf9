/*
 * Bound by memory when counting keeps up.  A block counts in shared memory, in as many copies of the bins as fit, a power
 * of two; lane l of a warp counts in copy l modulo their number.  Copies of a bin lie side by side, so that with 32 of them
 * no two lanes ever meet in a bank.  Then it adds its counts to totals in device memory; the block that ends last hands those
 * over and makes them zero for the next call, so that nothing need be cleared before the start.
 */
#include <cuda_runtime.h>

#define WARP 32
#define THREADS 1024
#define BLOCKS_PER_SM 2
#define LOADS 4 /* of 16 bytes, a thread, before the first is used */
#define MAX_BINS 1024
#define MAX_COUNTERS 8192 /* of a block */

__device__ unsigned int totals[MAX_BINS]; /* 0 between calls */
__device__ unsigned int ended;            /* 0 between calls */

__global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
    count(const int *__restrict__ input, int *__restrict__ bins, int n, int num_bins, int copies)
{
    __shared__ unsigned int counters[MAX_COUNTERS];
    unsigned int *const own = counters + (threadIdx.x & (copies - 1));
    auto add = [&](int v) {
        if ((unsigned int)v < (unsigned int)num_bins)
            atomicAdd(own + v * copies, 1u);
    };
    for (int i = threadIdx.x; i < num_bins * copies; i += THREADS)
        counters[i] = 0;
    __syncthreads();

    const int vectors = n / 4, step = gridDim.x * THREADS;
    const int4 *const from = (const int4 *)input;
    for (int at = blockIdx.x * THREADS + threadIdx.x; at < vectors; at += LOADS * step) {
        int4 v[LOADS];
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            v[i] = at + i * step < vectors ? __ldcs(from + at + i * step) : make_int4(-1, -1, -1, -1);
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            add(v[i].x), add(v[i].y), add(v[i].z), add(v[i].w);
    }
    if (blockIdx.x == 0 && threadIdx.x < n % 4)
        add(input[4 * vectors + threadIdx.x]);
    __syncthreads();

    for (int b = threadIdx.x; b < num_bins; b += THREADS) {
        unsigned int sum = 0;
        for (int i = 0; i < copies; i++) /* neighbours begin with different copies, in different banks */
            sum += counters[b * copies + ((i + b) & (copies - 1))];
        if (sum)
            atomicAdd(totals + b, sum);
    }

    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(&ended, 1) == gridDim.x - 1;
    __syncthreads();
    if (!last)
        return;
    __threadfence();
    for (int b = threadIdx.x; b < num_bins; b += THREADS) {
        bins[b] = (int)__ldcg(totals + b);
        totals[b] = 0;
    }
    if (threadIdx.x == 0)
        ended = 0;
}

extern "C" void histogram(const int *input, int *bins, int n, int num_bins, cudaStream_t stream)
{
    static int most;
    if (!most) {
        int processors = 1;
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
        most = processors * BLOCKS_PER_SM;
    }
    int copies = WARP;
    while (copies * num_bins > MAX_COUNTERS)
        copies /= 2;
    long long chunks = (n + 4ll * THREADS - 1) / (4ll * THREADS);
    int blocks = chunks < most ? (int)chunks : most;
    if (blocks == 0)
        blocks = 1; /* the counts of nothing must be written too */
    count<<<blocks, THREADS, 0, stream>>>(input, bins, n, num_bins, copies);
}
