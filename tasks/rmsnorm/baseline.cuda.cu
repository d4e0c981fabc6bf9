/*
 * Each row is read once and written once.  A thread keeps its part of the row in registers until the sum of the squares is
 * known.  Rows stream past the caches, so that the weights stay in L1 for the rows that a processor works on.
 *
 *   up to 1024 columns      a warp per row
 *   up to 8192              a block of 256 threads per row
 *   up to 32768             a block of 512 or 1024 threads per row
 *   more, or odd and long   a block per row that reads it twice; the second time it comes from L2
 */
#include <cuda_runtime.h>

#define WARP 32
#define ALL 0xffffffffu
#define ROWS_PER_BLOCK 4 /* where a warp has a row */
#define TWICE_THREADS 512

__device__ __forceinline__ float sum_warp(float v)
{
#pragma unroll
    for (int step = WARP / 2; step; step /= 2)
        v += __shfl_xor_sync(ALL, v, step);
    return v;
}

/* The same for all threads of a block; to be called once. */
template <int THREADS> __device__ __forceinline__ float sum_block(float v)
{
    __shared__ float sums[THREADS / WARP];
    v = sum_warp(v);
    if (threadIdx.x % WARP == 0)
        sums[threadIdx.x / WARP] = v;
    __syncthreads();
    int lane = threadIdx.x % WARP;
    return sum_warp(lane < THREADS / WARP ? sums[lane] : 0);
}

/* A row in registers, THREADS threads to the row: VECTOR neighbours at a time, N times. */
template <int THREADS, int VECTOR, int N> struct row_part {
    float v[VECTOR * N];

    __device__ __forceinline__ void load(const float *x, int cols, int thread)
    {
#pragma unroll
        for (int i = 0; i < N; i++) {
            int at = (i * THREADS + thread) * VECTOR;
            if constexpr (VECTOR == 4) {
                float4 q = at < cols ? __ldcs((const float4 *)(x + at)) : make_float4(0, 0, 0, 0);
                v[4 * i] = q.x, v[4 * i + 1] = q.y, v[4 * i + 2] = q.z, v[4 * i + 3] = q.w;
            } else {
                v[i] = at < cols ? __ldcs(x + at) : 0;
            }
        }
    }

    __device__ __forceinline__ float squares() const
    {
        float sum = 0;
#pragma unroll
        for (int i = 0; i < VECTOR * N; i++)
            sum += v[i] * v[i];
        return sum;
    }

    __device__ __forceinline__ void store(const float *weight, float *y, int cols, int thread, float scale) const
    {
#pragma unroll
        for (int i = 0; i < N; i++) {
            int at = (i * THREADS + thread) * VECTOR;
            if (at >= cols)
                continue;
            if constexpr (VECTOR == 4) {
                float4 w = __ldg((const float4 *)(weight + at));
                __stcs((float4 *)(y + at), make_float4(v[4 * i] * scale * w.x, v[4 * i + 1] * scale * w.y,
                                                       v[4 * i + 2] * scale * w.z, v[4 * i + 3] * scale * w.w));
            } else {
                __stcs(y + at, v[i] * scale * __ldg(weight + at));
            }
        }
    }
};

template <int VECTOR, int N>
__global__ void __launch_bounds__(ROWS_PER_BLOCK *WARP)
    by_warp(const float *x, const float *weight, float *y, int rows, int cols, float eps)
{
    long long row = blockIdx.x * (long long)ROWS_PER_BLOCK + threadIdx.x / WARP;
    if (row >= rows)
        return;
    int lane = threadIdx.x % WARP;
    row_part<WARP, VECTOR, N> part;
    part.load(x + row * cols, cols, lane);
    float scale = rsqrtf(sum_warp(part.squares()) / cols + eps);
    part.store(weight, y + row * cols, cols, lane, scale);
}

template <int THREADS, int VECTOR, int N>
__global__ void __launch_bounds__(THREADS)
    by_block(const float *x, const float *weight, float *y, int cols, float eps)
{
    long long row = blockIdx.x;
    row_part<THREADS, VECTOR, N> part;
    part.load(x + row * cols, cols, threadIdx.x);
    float scale = rsqrtf(sum_block<THREADS>(part.squares()) / cols + eps);
    part.store(weight, y + row * cols, cols, threadIdx.x, scale);
}

__global__ void __launch_bounds__(TWICE_THREADS)
    twice(const float *x, const float *weight, float *y, int cols, float eps)
{
    x += blockIdx.x * (long long)cols;
    y += blockIdx.x * (long long)cols;
    float squares = 0;
    for (int i = threadIdx.x; i < cols; i += TWICE_THREADS)
        squares += x[i] * x[i];
    float scale = rsqrtf(sum_block<TWICE_THREADS>(squares) / cols + eps);
    for (int i = threadIdx.x; i < cols; i += TWICE_THREADS)
        __stcs(y + i, x[i] * scale * __ldg(weight + i));
}

template <int VECTOR>
static void short_rows(const float *x, const float *weight, float *y, int rows, int cols, float eps,
                       cudaStream_t stream)
{
    int blocks = (rows + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK, threads = ROWS_PER_BLOCK * WARP;
    int vectors = (cols + VECTOR * WARP - 1) / (VECTOR * WARP);
    if (vectors <= 1)
        by_warp<VECTOR, 1><<<blocks, threads, 0, stream>>>(x, weight, y, rows, cols, eps);
    else if (vectors <= 2)
        by_warp<VECTOR, 2><<<blocks, threads, 0, stream>>>(x, weight, y, rows, cols, eps);
    else if (vectors <= 4)
        by_warp<VECTOR, 4><<<blocks, threads, 0, stream>>>(x, weight, y, rows, cols, eps);
    else if (vectors <= 8)
        by_warp<VECTOR, 8><<<blocks, threads, 0, stream>>>(x, weight, y, rows, cols, eps);
    else
        by_warp<VECTOR, 32 / VECTOR><<<blocks, threads, 0, stream>>>(x, weight, y, rows, cols, eps);
}

extern "C" void rmsnorm(const float *x, const float *weight, float *y, int rows, int cols, float eps,
                        cudaStream_t stream)
{
    bool even = cols % 4 == 0;
    if (cols <= 1024 && even)
        short_rows<4>(x, weight, y, rows, cols, eps, stream);
    else if (cols <= 1024)
        short_rows<1>(x, weight, y, rows, cols, eps, stream);
    else if (even && cols <= 2048)
        by_block<256, 4, 2><<<rows, 256, 0, stream>>>(x, weight, y, cols, eps);
    else if (even && cols <= 4096)
        by_block<256, 4, 4><<<rows, 256, 0, stream>>>(x, weight, y, cols, eps);
    else if (even && cols <= 8192)
        by_block<256, 4, 8><<<rows, 256, 0, stream>>>(x, weight, y, cols, eps);
    else if (even && cols <= 16384)
        by_block<512, 4, 8><<<rows, 512, 0, stream>>>(x, weight, y, cols, eps);
    else if (even && cols <= 32768)
        by_block<1024, 4, 8><<<rows, 1024, 0, stream>>>(x, weight, y, cols, eps);
    else
        twice<<<rows, TWICE_THREADS, 0, stream>>>(x, weight, y, cols, eps);
}
