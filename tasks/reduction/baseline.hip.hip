/* Parts in f64, each a sum of short sums in f32, then their sum. */
#include <hip/hip_runtime.h>

#define THREADS 256
#define MOST_BLOCKS 1024

static double *parts;

__device__ double sum_block(double v)
{
    __shared__ double sums[THREADS / warpSize];
    for (int offset = warpSize / 2; offset > 0; offset >>= 1)
        v += __shfl_down(v, offset);
    if (threadIdx.x % warpSize == 0)
        sums[threadIdx.x / warpSize] = v;
    __syncthreads();
    v = 0;
    /* Part of the first warp only: the others are not waited for. */
    if (threadIdx.x < THREADS / warpSize) {
        v = sums[threadIdx.x];
        for (int offset = THREADS / warpSize / 2; offset > 0; offset >>= 1)
            v += __shfl_down(v, offset);
    }
    return v;
}

__global__ void sum_parts(const float *x, double *to, int n)
{
    float v = 0;
    double own = 0;
    int terms = 0;
    for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < n; i += (long long)gridDim.x * THREADS) {
        v += x[i];
        if (++terms % 16 == 0) {
            own += v;
            v = 0;
        }
    }
    own = sum_block(own + v);
    if (threadIdx.x == 0)
        to[blockIdx.x] = own;
}

__global__ void sum_all(const double *from, float *sum, int blocks)
{
    double v = 0;
    for (int i = threadIdx.x; i < blocks; i += THREADS)
        v += from[i];
    v = sum_block(v);
    if (threadIdx.x == 0)
        *sum = (float)v;
}

extern "C" void reduction(const float *x, float *sum, int n, hipStream_t stream)
{
    int blocks = n / (16 * THREADS) + 1;
    if (blocks > MOST_BLOCKS)
        blocks = MOST_BLOCKS;
    if (!parts && hipMalloc(&parts, MOST_BLOCKS * sizeof *parts) != hipSuccess)
        return;
    hipLaunchKernelGGL(sum_parts, dim3(blocks), dim3(THREADS), 0, stream, x, parts, n);
    hipLaunchKernelGGL(sum_all, dim3(1), dim3(THREADS), 0, stream, parts, sum, blocks);
}
