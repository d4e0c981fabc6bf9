/*
 * Bound by memory alone.  A block moves a tile of 64 x 64: what it reads and what it writes are whole lines of 256 bytes,
 * and the tile is turned between them.
 *
 *   rows and columns multiples of 4   16 bytes in every access.  A thread turns 4 x 4 elements in its registers, so shared
 *                                     memory holds groups of 4 as they go out
 *   any                               4 bytes in every access, 16 of them on their way at a time, turned in shared memory
 */
#include <cuda_runtime.h>

#define TILE 64
#define GROUPS (TILE / 4) /* of 4 elements, in each direction of a tile */
#define THREADS (GROUPS * GROUPS)
#define WARP 32

/* Groups of 4 down a column of the tile.  The 8 threads that store at a time have one group each of 8 columns, those that
 * read 8 groups of one column: in this order both are spread over all banks. */
static __device__ __forceinline__ int place(int column, int group)
{
    return column * GROUPS + (group ^ (column / 4 % GROUPS));
}

__global__ void __launch_bounds__(THREADS)
    by_four(const float *__restrict__ x, float *__restrict__ y, int rows, int cols,
            int tiles_across)
{
    __shared__ float4 tile[TILE * GROUPS];
    const long long row0 = (long long)(blockIdx.x / tiles_across) * TILE;
    const long long col0 = (long long)(blockIdx.x % tiles_across) * TILE;
    const int low = threadIdx.x % GROUPS, high = threadIdx.x / GROUPS;

    /* Here `low` is a group of columns and `high` a group of rows. */
    const long long row = row0 + 4 * high, col = col0 + 4 * low;
    if (row < rows && col < cols) {
        float4 v[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            v[i] = __ldcs((const float4 *)(x + (row + i) * cols + col));
        tile[place(4 * low, high)] = make_float4(v[0].x, v[1].x, v[2].x, v[3].x);
        tile[place(4 * low + 1, high)] = make_float4(v[0].y, v[1].y, v[2].y, v[3].y);
        tile[place(4 * low + 2, high)] = make_float4(v[0].z, v[1].z, v[2].z, v[3].z);
        tile[place(4 * low + 3, high)] = make_float4(v[0].w, v[1].w, v[2].w, v[3].w);
    }
    __syncthreads();

    /* Here `low` is a group of rows and `high` a column, which is a row of y. */
    if (row0 + 4 * low >= rows)
        return;
#pragma unroll
    for (int i = 0; i < TILE; i += GROUPS)
        if (col0 + high + i < cols)
            *(float4 *)(y + (col0 + high + i) * rows + row0 + 4 * low) = tile[place(high + i, low)];
}

__global__ void __launch_bounds__(THREADS)
    by_one(const float *__restrict__ x, float *__restrict__ y, int rows, int cols, int tiles_across)
{
    constexpr int STEP = THREADS / WARP;
    __shared__ float tile[TILE][TILE + 1]; /* the padding spreads a column over the banks */
    const long long row0 = (long long)(blockIdx.x / tiles_across) * TILE;
    const long long col0 = (long long)(blockIdx.x % tiles_across) * TILE;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    float v[2 * TILE / STEP];
#pragma unroll
    for (int i = 0; i < 2 * TILE / STEP; i++) {
        const long long row = row0 + warp + i / 2 * STEP, col = col0 + lane + i % 2 * WARP;
        v[i] = row < rows && col < cols ? __ldcs(x + row * cols + col) : 0;
    }
#pragma unroll
    for (int i = 0; i < 2 * TILE / STEP; i++)
        tile[warp + i / 2 * STEP][lane + i % 2 * WARP] = v[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 2 * TILE / STEP; i++) {
        const int r = lane + i % 2 * WARP, c = warp + i / 2 * STEP;
        if (row0 + r < rows && col0 + c < cols)
            y[(col0 + c) * rows + row0 + r] = tile[r][c];
    }
}

extern "C" void transpose(const float *x, float *y, int rows, int cols, cudaStream_t stream)
{
    const long long down = (rows + TILE - 1LL) / TILE, across = (cols + TILE - 1LL) / TILE;
    const unsigned int tiles = (unsigned int)(down * across);
    if (rows % 4 == 0 && cols % 4 == 0)
        by_four<<<tiles, THREADS, 0, stream>>>(x, y, rows, cols, (int)across);
    else
        by_one<<<tiles, THREADS, 0, stream>>>(x, y, rows, cols, (int)across);
}
