/*
 * Each row is read once and written once.  A thread keeps its part of the row in registers: it takes the maximum of that
 * part, turns the part into exponentials relative to it, and after one exchange of (maximum, sum) with the other
 * threads of the row a single factor makes them right.
 *
 *   up to 1024 columns      a warp per row
 *   up to 8192              a block of 256 threads per row
 *   up to 32768             a block of 1024 threads per multiprocessor, which fetches its next row into shared memory
 *                           while it works on the one in its registers
 *   more, or odd and long   a block per row that reads it twice; the second time it comes from L2
 */
#include <cuda_runtime.h>

#define WARP 32
#define ALL 0xffffffffu

struct partial {
    float max, sum; /* sum of exp(x - max) */
};

__device__ __forceinline__ partial combine(partial a, partial b)
{
    float m = fmaxf(a.max, b.max);
    /* A part without elements has maximum -inf and sum 0; both may be such parts. */
    float left = a.sum == 0 ? 0 : a.sum * __expf(a.max - m), right = b.sum == 0 ? 0 : b.sum * __expf(b.max - m);
    return {m, left + right};
}

__device__ __forceinline__ partial combine_warp(partial p)
{
#pragma unroll
    for (int step = WARP / 2; step; step /= 2)
        p = combine(p, {__shfl_xor_sync(ALL, p.max, step), __shfl_xor_sync(ALL, p.sum, step)});
    return p;
}

/* For all threads of a block; `parity` alternates between calls, so that one barrier is enough. */
template <int THREADS> __device__ __forceinline__ partial combine_block(partial p, int parity)
{
    __shared__ partial parts[2][THREADS / WARP];
    p = combine_warp(p);
    if (threadIdx.x % WARP == 0)
        parts[parity][threadIdx.x / WARP] = p;
    __syncthreads();
    int lane = threadIdx.x % WARP;
    p = lane < THREADS / WARP ? parts[parity][lane] : partial{-INFINITY, 0};
    return combine_warp(p);
}

/* The values become exponentials relative to the part's own maximum. */
template <int N> __device__ __forceinline__ partial exponentials(float (&v)[N])
{
    partial p = {-INFINITY, 0};
#pragma unroll
    for (int i = 0; i < N; i++)
        p.max = fmaxf(p.max, v[i]);
    float base = p.max == -INFINITY ? 0 : p.max;
#pragma unroll
    for (int i = 0; i < N; i++) {
        v[i] = __expf(v[i] - base);
        p.sum += v[i];
    }
    return p;
}

__device__ __forceinline__ float factor(partial own, partial all)
{
    return own.sum == 0 ? 0 : __expf(own.max - all.max) / all.sum;
}

/* A row in registers, THREADS threads to the row: VECTOR neighbours at a time, N times. */
template <int THREADS, int VECTOR, int N>
__device__ __forceinline__ void load_row(const float *x, int cols, int thread, float (&v)[VECTOR * N])
{
#pragma unroll
    for (int i = 0; i < N; i++) {
        int at = (i * THREADS + thread) * VECTOR;
        if constexpr (VECTOR == 4) {
            float4 q = at < cols ? __ldcs((const float4 *)(x + at))
                                 : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
            v[4 * i] = q.x, v[4 * i + 1] = q.y, v[4 * i + 2] = q.z, v[4 * i + 3] = q.w;
        } else {
            v[i] = at < cols ? __ldcs(x + at) : -INFINITY;
        }
    }
}

template <int THREADS, int VECTOR, int N>
__device__ __forceinline__ void store_row(float *y, int cols, int thread, const float (&v)[VECTOR * N], float f)
{
#pragma unroll
    for (int i = 0; i < N; i++) {
        int at = (i * THREADS + thread) * VECTOR;
        if (at >= cols)
            continue;
        if constexpr (VECTOR == 4)
            __stcs((float4 *)(y + at), make_float4(v[4 * i] * f, v[4 * i + 1] * f, v[4 * i + 2] * f, v[4 * i + 3] * f));
        else
            __stcs(y + at, v[i] * f);
    }
}

#define ROWS_PER_BLOCK 4

template <int VECTOR, int N>
__global__ void __launch_bounds__(ROWS_PER_BLOCK *WARP) by_warp(const float *x, float *y, int rows, int cols)
{
    long long row = blockIdx.x * (long long)ROWS_PER_BLOCK + threadIdx.x / WARP;
    if (row >= rows)
        return;
    int lane = threadIdx.x % WARP;
    float v[VECTOR * N];
    load_row<WARP, VECTOR, N>(x + row * cols, cols, lane, v);
    partial own = exponentials(v), all = combine_warp(own);
    store_row<WARP, VECTOR, N>(y + row * cols, cols, lane, v, factor(own, all));
}

template <int THREADS, int VECTOR, int N>
__global__ void __launch_bounds__(THREADS) by_block(const float *x, float *y, int cols)
{
    long long row = blockIdx.x;
    float v[VECTOR * N];
    load_row<THREADS, VECTOR, N>(x + row * cols, cols, threadIdx.x, v);
    partial own = exponentials(v), all = combine_block<THREADS>(own, 0);
    store_row<THREADS, VECTOR, N>(y + row * cols, cols, threadIdx.x, v, factor(own, all));
}

#define LONG_THREADS 1024
#define LONG_N 8 /* times 4 values a thread: 32768 columns */

__device__ __forceinline__ void fetch(float4 *to, const float *x, int cols)
{
#pragma unroll
    for (int i = 0; i < LONG_N; i++) {
        int at = (i * LONG_THREADS + threadIdx.x) * 4;
        unsigned int shared = (unsigned int)__cvta_generic_to_shared(to + i * LONG_THREADS + threadIdx.x);
        if (at < cols)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(x + at) : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Every thread fetches what it alone reads, so the row needs no barrier. */
__global__ void __launch_bounds__(LONG_THREADS, 1) by_processor(const float *x, float *y, int rows, int cols)
{
    extern __shared__ float4 next[];
    int parity = 0;
    if (blockIdx.x < rows)
        fetch(next, x + blockIdx.x * (long long)cols, cols);
    for (long long row = blockIdx.x; row < rows; row += gridDim.x, parity ^= 1) {
        float v[4 * LONG_N];
        asm volatile("cp.async.wait_group 0;" ::: "memory");
#pragma unroll
        for (int i = 0; i < LONG_N; i++) {
            int at = (i * LONG_THREADS + threadIdx.x) * 4;
            float4 q = at < cols ? next[i * LONG_THREADS + threadIdx.x]
                                 : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
            v[4 * i] = q.x, v[4 * i + 1] = q.y, v[4 * i + 2] = q.z, v[4 * i + 3] = q.w;
        }
        partial own = exponentials(v);
        if (row + gridDim.x < rows)
            fetch(next, x + (row + gridDim.x) * cols, cols);
        partial all = combine_block<LONG_THREADS>(own, parity);
        store_row<LONG_THREADS, 4, LONG_N>(y + row * cols, cols, threadIdx.x, v, factor(own, all));
    }
}

#define TWICE_THREADS 512

__global__ void __launch_bounds__(TWICE_THREADS) twice(const float *x, float *y, int cols)
{
    x += blockIdx.x * (long long)cols;
    y += blockIdx.x * (long long)cols;
    partial own = {-INFINITY, 0};
    for (int i = threadIdx.x; i < cols; i += TWICE_THREADS)
        own = combine(own, {x[i], 1});
    partial all = combine_block<TWICE_THREADS>(own, 0);
    float scale = 1 / all.sum;
    for (int i = threadIdx.x; i < cols; i += TWICE_THREADS)
        y[i] = __expf(x[i] - all.max) * scale;
}

template <int VECTOR> static void short_rows(const float *x, float *y, int rows, int cols, cudaStream_t stream)
{
    int blocks = (rows + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK, threads = ROWS_PER_BLOCK * WARP;
    int vectors = (cols + VECTOR * WARP - 1) / (VECTOR * WARP);
    if (vectors <= 1)
        by_warp<VECTOR, 1><<<blocks, threads, 0, stream>>>(x, y, rows, cols);
    else if (vectors <= 2)
        by_warp<VECTOR, 2><<<blocks, threads, 0, stream>>>(x, y, rows, cols);
    else if (vectors <= 4)
        by_warp<VECTOR, 4><<<blocks, threads, 0, stream>>>(x, y, rows, cols);
    else if (vectors <= 8)
        by_warp<VECTOR, 8><<<blocks, threads, 0, stream>>>(x, y, rows, cols);
    else
        by_warp<VECTOR, 32 / VECTOR><<<blocks, threads, 0, stream>>>(x, y, rows, cols);
}

static void long_rows(const float *x, float *y, int rows, int cols, cudaStream_t stream)
{
    static int processors;
    int bytes = LONG_THREADS * LONG_N * (int)sizeof(float4);
    if (!processors) {
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
        cudaFuncSetAttribute(by_processor, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    }
    by_processor<<<rows < processors ? rows : processors, LONG_THREADS, bytes, stream>>>(x, y, rows, cols);
}

extern "C" void softmax(const float *x, float *y, int rows, int cols, cudaStream_t stream)
{
    bool even = cols % 4 == 0;
    if (cols <= 1024 && even)
        short_rows<4>(x, y, rows, cols, stream);
    else if (cols <= 1024)
        short_rows<1>(x, y, rows, cols, stream);
    else if (even && cols <= 2048)
        by_block<256, 4, 2><<<rows, 256, 0, stream>>>(x, y, cols);
    else if (even && cols <= 4096)
        by_block<256, 4, 4><<<rows, 256, 0, stream>>>(x, y, cols);
    else if (even && cols <= 8192)
        by_block<256, 4, 8><<<rows, 256, 0, stream>>>(x, y, cols);
    else if (even && cols <= 4 * LONG_THREADS * LONG_N)
        long_rows(x, y, rows, cols, stream);
    else
        twice<<<rows, TWICE_THREADS, 0, stream>>>(x, y, cols);
}
