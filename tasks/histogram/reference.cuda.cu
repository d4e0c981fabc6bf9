#include <cstdint>

#define THREADS 256
#define BLOCKS 1024
#define MAX_BINS 4096

static __global__ void __launch_bounds__(THREADS)
    count(const int *input, int64_t *bins, int64_t n, int64_t num_bins)
{
    __shared__ unsigned int counts[MAX_BINS]; /* a block sees 2^31 / BLOCKS elements at most */
    for (int64_t b = threadIdx.x; b < num_bins; b += THREADS)
        counts[b] = 0;
    __syncthreads();
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n; i += BLOCKS * THREADS)
        if (input[i] >= 0 && input[i] < num_bins)
            atomicAdd(&counts[input[i]], 1u);
    __syncthreads();
    for (int64_t b = threadIdx.x; b < num_bins; b += THREADS)
        atomicAdd((unsigned long long *)&bins[b], (unsigned long long)counts[b]);
}

/* The bins begin as zeros. */
extern "C" int reference_cuda(const int *input, int64_t *bins, int64_t n, int64_t num_bins,
                              cudaStream_t stream)
{
    if (num_bins > MAX_BINS)
        return cudaErrorInvalidValue;
    count<<<BLOCKS, THREADS, 0, stream>>>(input, bins, n, num_bins);
    return cudaGetLastError();
}
