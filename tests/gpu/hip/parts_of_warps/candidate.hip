#include <hip/hip_runtime.h>

#include <math.h>

#define THREADS 256
#define MOST_BLOCKS 1024

static double *total;

/* Odd and even lanes add up each for themselves: what lanes 0 and 1 get. */
__device__ double sum_lanes(double v)
{
    if (threadIdx.x % 2 == 0)
        for (int offset = warpSize / 2; offset > 1; offset >>= 1)
            v += __shfl_down(v, offset);
    else
        for (int offset = 2; offset < warpSize; offset <<= 1)
            v += __shfl_xor(v, offset);
    return v;
}

/* Whether those are counted that are still there: a fourth of a warp leaves in each round. */
__device__ bool counts_are_right()
{
    const int last = threadIdx.x % 4;
    bool right = true;
    for (int round = 0; round <= last; round++) {
        right &= (int)__popcll(__ballot(1)) == warpSize / 4 * (4 - round);
        right &= __shfl(round, 3) == round;
        right &= __all(last >= round) != 0;
    }
    return right;
}

__global__ void add(const float *x, double *to, int n)
{
    double v = 0;
    for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < n; i += (long long)gridDim.x * THREADS)
        v += x[i];
    v = sum_lanes(counts_are_right() ? v : NAN);
    if (threadIdx.x % warpSize < 2)
        atomicAdd(to, v);
}

__global__ void finish(const double *from, float *sum)
{
    *sum = (float)*from;
}

extern "C" void reduction(const float *x, float *sum, int n, hipStream_t stream)
{
    int blocks = n / (16 * THREADS) + 1;
    if (blocks > MOST_BLOCKS)
        blocks = MOST_BLOCKS;
    if (!total && hipMalloc(&total, sizeof *total) != hipSuccess)
        return;
    (void)hipMemsetAsync(total, 0, sizeof *total, stream);
    hipLaunchKernelGGL(add, dim3(blocks), dim3(THREADS), 0, stream, x, total, n);
    hipLaunchKernelGGL(finish, dim3(1), dim3(1), 0, stream, total, sum);
}
