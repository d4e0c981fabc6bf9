/*
 * Each row is read once and written once.  A thread keeps its part of the row in registers while the threads of the row agree
 * first on the mean, then on the variance about it.  Rows stream past the caches, so that weights and biases stay in L1 for
 * the rows that a processor works on.
 *
 *   up to 1024 columns      a warp per row
 *   up to 8192              a block of 256 threads per row
 *   up to 32768             a block of 512 or 1024 threads per row
 *   more, or odd and long   a block per row that reads it three times; after the first time it comes from L2
 */
#include <cuda_runtime.h>

#define WARP 32
#define ALL 0xffffffffu
#define ROWS_PER_BLOCK 4 /* where a warp has a row */
#define AGAIN_THREADS 512

struct problem {
    const float *weight, *bias;
    int cols;
    float eps;
};

__device__ __forceinline__ float sum_warp(float v)
{
#pragma unroll
    for (int step = WARP / 2; step; step /= 2)
        v += __shfl_xor_sync(ALL, v, step);
    return v;
}

/* The same for all threads of a row: a warp or a block.  Each call in a kernel has a SLOT of its own, so that one barrier is
 * enough. */
template <int THREADS, int SLOT> __device__ __forceinline__ float sum_row(float v)
{
    v = sum_warp(v);
    if constexpr (THREADS > WARP) {
        __shared__ float sums[THREADS / WARP];
        if (threadIdx.x % WARP == 0)
            sums[threadIdx.x / WARP] = v;
        __syncthreads();
        int lane = threadIdx.x % WARP;
        v = sum_warp(lane < THREADS / WARP ? sums[lane] : 0);
    }
    return v;
}

/* THREADS threads to the row: VECTOR neighbours at a time, N times. */
template <int THREADS, int VECTOR, int N>
__device__ __forceinline__ void normalise(const problem &p, const float *x, float *y, int thread)
{
    float v[VECTOR * N], sum = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        int at = (i * THREADS + thread) * VECTOR;
        if constexpr (VECTOR == 4) {
            float4 q = at < p.cols ? __ldcs((const float4 *)(x + at)) : make_float4(0, 0, 0, 0);
            v[4 * i] = q.x, v[4 * i + 1] = q.y, v[4 * i + 2] = q.z, v[4 * i + 3] = q.w;
        } else {
            v[i] = at < p.cols ? __ldcs(x + at) : 0;
        }
    }
#pragma unroll
    for (int i = 0; i < VECTOR * N; i++)
        sum += v[i];
    const float mean = sum_row<THREADS, 0>(sum) / p.cols;
#pragma unroll
    for (int i = 0; i < VECTOR * N; i++) {
        v[i] -= mean;
        if ((i / VECTOR * THREADS + thread) * VECTOR < p.cols)
            squares += v[i] * v[i];
    }
    const float scale = rsqrtf(sum_row<THREADS, 1>(squares) / p.cols + p.eps);
#pragma unroll
    for (int i = 0; i < N; i++) {
        int at = (i * THREADS + thread) * VECTOR;
        if (at >= p.cols)
            continue;
        if constexpr (VECTOR == 4) {
            float4 w = __ldg((const float4 *)(p.weight + at)), b = __ldg((const float4 *)(p.bias + at));
            __stcs((float4 *)(y + at),
                   make_float4(v[4 * i] * scale * w.x + b.x, v[4 * i + 1] * scale * w.y + b.y,
                               v[4 * i + 2] * scale * w.z + b.z, v[4 * i + 3] * scale * w.w + b.w));
        } else {
            __stcs(y + at, v[i] * scale * __ldg(p.weight + at) + __ldg(p.bias + at));
        }
    }
}

template <int VECTOR, int N>
__global__ void __launch_bounds__(ROWS_PER_BLOCK *WARP) by_warp(problem p, const float *x, float *y, int rows)
{
    long long row = blockIdx.x * (long long)ROWS_PER_BLOCK + threadIdx.x / WARP;
    if (row < rows)
        normalise<WARP, VECTOR, N>(p, x + row * p.cols, y + row * p.cols, threadIdx.x % WARP);
}

template <int THREADS, int VECTOR, int N>
__global__ void __launch_bounds__(THREADS) by_block(problem p, const float *x, float *y)
{
    long long row = blockIdx.x;
    normalise<THREADS, VECTOR, N>(p, x + row * p.cols, y + row * p.cols, threadIdx.x);
}

__global__ void __launch_bounds__(AGAIN_THREADS) again(problem p, const float *x, float *y)
{
    x += blockIdx.x * (long long)p.cols;
    y += blockIdx.x * (long long)p.cols;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < p.cols; i += AGAIN_THREADS)
        sum += x[i];
    const float mean = sum_row<AGAIN_THREADS, 0>(sum) / p.cols;
    for (int i = threadIdx.x; i < p.cols; i += AGAIN_THREADS)
        squares += (x[i] - mean) * (x[i] - mean);
    const float scale = rsqrtf(sum_row<AGAIN_THREADS, 1>(squares) / p.cols + p.eps);
    for (int i = threadIdx.x; i < p.cols; i += AGAIN_THREADS)
        __stcs(y + i, (x[i] - mean) * scale * __ldg(p.weight + i) + __ldg(p.bias + i));
}

template <int VECTOR> static void short_rows(const problem &p, const float *x, float *y, int rows, cudaStream_t stream)
{
    int blocks = (rows + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK, threads = ROWS_PER_BLOCK * WARP;
    int vectors = (p.cols + VECTOR * WARP - 1) / (VECTOR * WARP);
    if (vectors <= 1)
        by_warp<VECTOR, 1><<<blocks, threads, 0, stream>>>(p, x, y, rows);
    else if (vectors <= 2)
        by_warp<VECTOR, 2><<<blocks, threads, 0, stream>>>(p, x, y, rows);
    else if (vectors <= 4)
        by_warp<VECTOR, 4><<<blocks, threads, 0, stream>>>(p, x, y, rows);
    else if (vectors <= 8)
        by_warp<VECTOR, 8><<<blocks, threads, 0, stream>>>(p, x, y, rows);
    else
        by_warp<VECTOR, 32 / VECTOR><<<blocks, threads, 0, stream>>>(p, x, y, rows);
}

extern "C" void layernorm(const float *x, const float *weight, const float *bias, float *y, int rows, int cols,
                          float eps, cudaStream_t stream)
{
    const problem p = {weight, bias, cols, eps};
    bool even = cols % 4 == 0;
    if (cols <= 1024 && even)
        short_rows<4>(p, x, y, rows, stream);
    else if (cols <= 1024)
        short_rows<1>(p, x, y, rows, stream);
    else if (even && cols <= 2048)
        by_block<256, 4, 2><<<rows, 256, 0, stream>>>(p, x, y);
    else if (even && cols <= 4096)
        by_block<256, 4, 4><<<rows, 256, 0, stream>>>(p, x, y);
    else if (even && cols <= 8192)
        by_block<256, 4, 8><<<rows, 256, 0, stream>>>(p, x, y);
    else if (even && cols <= 16384)
        by_block<512, 4, 8><<<rows, 512, 0, stream>>>(p, x, y);
    else if (even && cols <= 32768)
        by_block<1024, 4, 8><<<rows, 1024, 0, stream>>>(p, x, y);
    else
        again<<<rows, AGAIN_THREADS, 0, stream>>>(p, x, y);
}
