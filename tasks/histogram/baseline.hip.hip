/* Each block counts in its own memory and adds what it has at the end. */
#include <hip/hip_runtime.h>

#define THREADS 256

__global__ void count(const int *input, int *bins, int n, int num_bins)
{
    HIP_DYNAMIC_SHARED(int, own)
    for (int i = threadIdx.x; i < num_bins; i += blockDim.x)
        own[i] = 0;
    __syncthreads();
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
        int bin = input[i];
        if (bin >= 0 && bin < num_bins)
            atomicAdd(&own[bin], 1);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < num_bins; i += blockDim.x)
        if (own[i])
            atomicAdd(&bins[i], own[i]);
}

extern "C" void histogram(const int *input, int *bins, int n, int num_bins, hipStream_t stream)
{
    static int processors;
    if (!processors && hipDeviceGetAttribute(&processors, hipDeviceAttributeMultiprocessorCount, 0) != hipSuccess)
        return;
    if (hipMemsetAsync(bins, 0, num_bins * sizeof *bins, stream) != hipSuccess)
        return;
    int blocks = n / (16 * THREADS) + 1;
    if (blocks > 8 * processors)
        blocks = 8 * processors;
    hipLaunchKernelGGL(count, dim3(blocks), dim3(THREADS), num_bins * sizeof(int), stream, input, bins, n, num_bins);
}
