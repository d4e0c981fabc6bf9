/*
 * Double precision on the tensor cores: exact products, sums rounded to double.  A block of 8 warps makes 128 x 64 elements
 * of c, a warp 32 x 32 of them as 4 x 4 tiles of 8 x 8.
 */
#include <cstdint>
#include <cuda_bf16.h>

#define BM 128
#define BN 64
#define BK 16
#define THREADS 256
#define TILES 4               /* of 8 x 8, in each direction, a warp */
#define A_STEP (THREADS / BK) /* rows of a tile that are fetched at a time */
#define B_STEP (THREADS / BN)
#define A_LOADS (BM / A_STEP)
#define B_LOADS (BK / B_STEP)

/* The rows' padding spreads what a warp reads over all banks. */
struct tiles {
    double a[BM][BK + 4], b[BK][BN + 4];
};

/* c += a * b for 8 x 4 by 4 x 8: lane l holds a[l / 4][l % 4], b[l % 4][l / 4] and two neighbours of c's row l / 4. */
static __device__ __forceinline__ void multiply_add(double c[2], double a, double b)
{
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a), "d"(b));
}

static __device__ __forceinline__ void multiply_tiles(const tiles &t, int row, int column, int lane,
                                                      double c[TILES][TILES][2])
{
#pragma unroll
    for (int p = 0; p < BK; p += 4) {
        double a[TILES], b[TILES];
#pragma unroll
        for (int i = 0; i < TILES; i++)
            a[i] = t.a[row + 8 * i + lane / 4][p + lane % 4];
#pragma unroll
        for (int j = 0; j < TILES; j++)
            b[j] = t.b[p + lane % 4][column + 8 * j + lane / 4];
#pragma unroll
        for (int i = 0; i < TILES; i++)
#pragma unroll
            for (int j = 0; j < TILES; j++)
                multiply_add(c[i][j], a[i], b[j]);
    }
}

static __global__ void __launch_bounds__(THREADS, 2)
    multiply(const __nv_bfloat16 *a, const __nv_bfloat16 *b, double *c, int64_t m, int64_t n,
             int64_t k)
{
    __shared__ tiles t;
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const int row = warp / 2 * 32, column = warp % 2 * 32;
    const int64_t blocks_down = (m + BM - 1) / BM;
    const int64_t row0 = blockIdx.x % blocks_down * BM, column0 = blockIdx.x / blocks_down * BN;
    /* What this thread fetches: a column of a's tile and one of b's. */
    const int64_t a_row = row0 + thread / BK, b_column = column0 + thread % BN;
    const __nv_bfloat16 *from_a = a + a_row * k + thread % BK,
                        *from_b = b + thread / BN * n + b_column;
    float next_a[A_LOADS], next_b[B_LOADS];
    double sums[TILES][TILES][2] = {};
    for (int64_t p = -BK; p < k; p += BK) {
        /* The next tiles are on their way while the present ones are used. */
        const int64_t left = k - p - BK;
#pragma unroll
        for (int i = 0; i < A_LOADS; i++)
            next_a[i] = thread % BK < left && a_row + i * A_STEP < m
                            ? __bfloat162float(from_a[i * A_STEP * k])
                            : 0;
#pragma unroll
        for (int i = 0; i < B_LOADS; i++)
            next_b[i] = thread / BN + i * B_STEP < left && b_column < n
                            ? __bfloat162float(from_b[i * B_STEP * n])
                            : 0;
        from_a += BK;
        from_b += BK * n;
        if (p >= 0)
            multiply_tiles(t, row, column, lane, sums);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < A_LOADS; i++)
            t.a[thread / BK + i * A_STEP][thread % BK] = next_a[i];
#pragma unroll
        for (int i = 0; i < B_LOADS; i++)
            t.b[thread / BN + i * B_STEP][thread % BN] = next_b[i];
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TILES; i++)
#pragma unroll
        for (int j = 0; j < TILES; j++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                int64_t to_row = row0 + row + 8 * i + lane / 4;
                int64_t to_column = column0 + column + 8 * j + lane % 4 * 2 + h;
                if (to_row < m && to_column < n)
                    c[to_row * n + to_column] = sums[i][j][h];
            }
}

extern "C" int reference_cuda(const __nv_bfloat16 *a, const __nv_bfloat16 *b, double *c, int64_t m,
                              int64_t n, int64_t k, cudaStream_t stream)
{
    int64_t blocks = (m + BM - 1) / BM * ((n + BN - 1) / BN);
    if (blocks == 0)
        return cudaSuccess;
    if (blocks > INT32_MAX)
        return cudaErrorInvalidConfiguration;
    multiply<<<(unsigned int)blocks, THREADS, 0, stream>>>(a, b, c, m, n, k);
    return cudaGetLastError();
}
