/*
 * Tiles of 64 x 64 through shared memory, 4 x 4 sums in the registers of a thread; sums in f32.  Where a group begins is known to the device
 * only, so there are blocks for the most tiles that the groups can have: those of all rows, and one more for each group.
 */
#include <hip/hip_runtime.h>

#include <stdint.h>

#define TILE 64
#define DEPTH 16
#define SIDE 16 /* threads; each has 4 x 4 sums */

/* The upper half of an f32; old versions of HIP have no type for it that newer ones have, too. */
typedef uint16_t bf16;

__device__ __forceinline__ float to_f32(bf16 v)
{
    return __uint_as_float((unsigned)v << 16);
}

/* To the nearest, ties to even; what is no number stays none. */
__device__ __forceinline__ bf16 to_bf16(float v)
{
    const unsigned bits = __float_as_uint(v);
    if (v != v)
        return (bf16)(bits >> 16 | 0x40u);
    return (bf16)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* Rows of `tile`, counted through all groups: first..end of group *expert. false: there are not so many tiles. */
__device__ bool find_rows(const int *cuts, int tokens, int experts, int tile, int *expert, int *first, int *end)
{
    int start = 0;
    for (int e = 0; e < experts; e++) {
        const int stop = e + 1 < experts ? (int)((long long)cuts[e] * tokens >> 20) : tokens;
        const int tiles = (stop - start + TILE - 1) / TILE;
        if (tile < tiles) {
            *expert = e;
            *first = start + tile * TILE;
            *end = stop;
            return true;
        }
        tile -= tiles;
        start = stop;
    }
    return false;
}

__global__ void __launch_bounds__(SIDE *SIDE) multiply(const bf16 *a, const bf16 *b, const int *cuts, bf16 *c, int tokens,
                                                       int experts, int n, int k)
{
    __shared__ float rows[DEPTH][TILE + 1], columns[DEPTH][TILE];
    int expert, row0, end;
    if (!find_rows(cuts, tokens, experts, blockIdx.y, &expert, &row0, &end))
        return;
    const int col0 = blockIdx.x * TILE, thread = threadIdx.y * SIDE + threadIdx.x;
    const bf16 *own = b + (size_t)expert * k * n;
    float sums[4][4] = {};
    for (int depth = 0; depth < k; depth += DEPTH) {
        for (int i = thread; i < TILE * DEPTH; i += SIDE * SIDE) {
            int row = row0 + i / DEPTH, at = depth + i % DEPTH;
            rows[i % DEPTH][i / DEPTH] = row < end && at < k ? to_f32(a[(size_t)row * k + at]) : 0.0f;
            int col = col0 + i % TILE;
            at = depth + i / TILE;
            columns[i / TILE][i % TILE] = col < n && at < k ? to_f32(own[(size_t)at * n + col]) : 0.0f;
        }
        __syncthreads();
        for (int d = 0; d < DEPTH; d++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sums[i][j] += rows[d][threadIdx.y + i * SIDE] * columns[d][threadIdx.x + j * SIDE];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            int row = row0 + threadIdx.y + i * SIDE, col = col0 + threadIdx.x + j * SIDE;
            if (row < end && col < n)
                c[(size_t)row * n + col] = to_bf16(sums[i][j]);
        }
}

extern "C" void grouped_matmul(const bf16 *a, const bf16 *b, const int *cuts, bf16 *c, int tokens, int experts, int n, int k,
                               hipStream_t stream)
{
    int across = (n + TILE - 1) / TILE, down = tokens / TILE + experts;
    hipLaunchKernelGGL(multiply, dim3(across, down), dim3(SIDE, SIDE), 0, stream, a, b, cuts, c, tokens, experts, n, k);
}
