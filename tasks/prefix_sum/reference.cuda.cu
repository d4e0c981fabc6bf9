/*
 * Reduce, then scan, in double precision: the sum of each tile, the sums before each tile, then every tile by itself.  The
 * order of additions differs from reference.c's, which costs about 10^-15 of the output's size.
 */
#include <cstdint>

#define THREADS 256
#define EACH 16 /* neighbours a thread */
#define TILE (THREADS * EACH)

/* Inclusive.  A barrier must come before `values` is read, and another before it is used again. */
static __device__ double scan_block(double value, double values[THREADS])
{
    values[threadIdx.x] = value;
    for (int step = 1; step < THREADS; step *= 2) {
        __syncthreads();
        double before = threadIdx.x >= step ? values[threadIdx.x - step] : 0;
        __syncthreads();
        values[threadIdx.x] = value += before;
    }
    return value;
}

static __device__ double sum_own(const float *input, int64_t first, int64_t n)
{
    double sum = 0;
    for (int64_t i = first; i < first + EACH && i < n; i++)
        sum += input[i];
    return sum;
}

static __global__ void __launch_bounds__(THREADS)
    sum_tiles(const float *input, double *sums, int64_t n)
{
    __shared__ double values[THREADS];
    int64_t first = blockIdx.x * (int64_t)TILE + threadIdx.x * EACH;
    double sum = scan_block(sum_own(input, first, n), values);
    if (threadIdx.x == THREADS - 1)
        sums[blockIdx.x] = sum;
}

/* One block; each sum becomes that of the tiles before. */
static __global__ void __launch_bounds__(THREADS) scan_sums(double *sums, int64_t tiles)
{
    __shared__ double values[THREADS];
    __shared__ double total;
    if (threadIdx.x == 0)
        total = 0;
    __syncthreads();
    for (int64_t first = 0; first < tiles; first += THREADS) {
        int64_t i = first + threadIdx.x;
        double own = i < tiles ? sums[i] : 0, before = total, upto = scan_block(own, values);
        __syncthreads();
        if (i < tiles)
            sums[i] = before + (threadIdx.x ? values[threadIdx.x - 1] : 0);
        __syncthreads();
        if (threadIdx.x == THREADS - 1)
            total = before + upto;
        __syncthreads();
    }
}

static __global__ void __launch_bounds__(THREADS)
    scan_tiles(const float *input, double *output, const double *sums, int64_t n)
{
    __shared__ double values[THREADS];
    int64_t first = blockIdx.x * (int64_t)TILE + threadIdx.x * EACH;
    scan_block(sum_own(input, first, n), values);
    __syncthreads();
    double sum = sums[blockIdx.x] + (threadIdx.x ? values[threadIdx.x - 1] : 0);
    for (int64_t i = first; i < first + EACH && i < n; i++)
        output[i] = sum += input[i];
}

extern "C" int reference_cuda(const float *input, double *output, int64_t n, cudaStream_t stream)
{
    int64_t tiles = (n + TILE - 1) / TILE;
    double *sums;
    if (n == 0)
        return cudaSuccess;
    cudaError_t error = cudaMallocAsync(&sums, (size_t)tiles * sizeof *sums, stream);
    if (error)
        return error;
    sum_tiles<<<(unsigned int)tiles, THREADS, 0, stream>>>(input, sums, n);
    scan_sums<<<1, THREADS, 0, stream>>>(sums, tiles);
    scan_tiles<<<(unsigned int)tiles, THREADS, 0, stream>>>(input, output, sums, n);
    error = cudaGetLastError();
    cudaFreeAsync(sums, stream);
    return error;
}
