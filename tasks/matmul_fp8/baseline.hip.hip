/*
 * Tiles of 64 x 64 through shared memory, 4 x 4 sums in the registers of a thread.  The products of a block of 128 are summed up unscaled; a scale
 * is the same for all of a tile's columns, for tiles divide the blocks.
 */
#include <hip/hip_runtime.h>

#include <stdint.h>

#define TILE 64
#define DEPTH 16
#define BLOCK 128 /* that has a scale of its own */
#define SIDE 16   /* threads; each has 4 x 4 sums */

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

/* f8e4m3 without infinities: a sign, four bits of exponent with bias 7, three of fraction; all ones is no number. */
__device__ __forceinline__ float from_f8(uint8_t v)
{
    const unsigned exponent = v >> 3 & 15u, fraction = v & 7u, sign = (unsigned)(v & 0x80u) << 24;
    if (exponent == 0)
        return __uint_as_float(sign | __float_as_uint((float)fraction * 0.001953125f)); /* 2^-9 */
    if (exponent == 15 && fraction == 7)
        return __uint_as_float(0x7fc00000u);
    return __uint_as_float(sign | (exponent + 120u) << 23 | fraction << 20);
}

__global__ void __launch_bounds__(SIDE *SIDE) multiply(const uint8_t *a, const uint8_t *b, const float *a_scale, const float *b_scale,
                                                       bf16 *c, int m, int n, int k)
{
    __shared__ float rows[DEPTH][TILE + 1], columns[DEPTH][TILE + 1];
    const int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE, blocks = k / BLOCK;
    const int thread = threadIdx.y * SIDE + threadIdx.x;
    float sums[4][4] = {};
    for (int block = 0; block < blocks; block++) {
        float own[4][4] = {};
        for (int depth = block * BLOCK; depth < (block + 1) * BLOCK; depth += DEPTH) {
            for (int i = thread; i < TILE * DEPTH; i += SIDE * SIDE) {
                const int row = row0 + i / DEPTH, col = col0 + i / DEPTH, at = depth + i % DEPTH;
                rows[i % DEPTH][i / DEPTH] = row < m ? from_f8(a[(size_t)row * k + at]) : 0.0f;
                columns[i % DEPTH][i / DEPTH] = from_f8(b[(size_t)col * k + at]);
            }
            __syncthreads();
            for (int d = 0; d < DEPTH; d++)
                for (int i = 0; i < 4; i++)
                    for (int j = 0; j < 4; j++)
                        own[i][j] += rows[d][threadIdx.y + i * SIDE] * columns[d][threadIdx.x + j * SIDE];
            __syncthreads();
        }
        const float scale = b_scale[(size_t)(col0 / BLOCK) * blocks + block];
        for (int i = 0; i < 4; i++) {
            const int row = row0 + threadIdx.y + i * SIDE;
            const float both = row < m ? a_scale[(size_t)row * blocks + block] * scale : 0.0f;
            for (int j = 0; j < 4; j++)
                sums[i][j] += own[i][j] * both;
        }
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            const int row = row0 + threadIdx.y + i * SIDE, col = col0 + threadIdx.x + j * SIDE;
            if (row < m)
                c[(size_t)row * n + col] = to_bf16(sums[i][j]);
        }
}

extern "C" void matmul_fp8(const uint8_t *a, const uint8_t *b, const float *a_scale, const float *b_scale, bf16 *c, int m, int n,
                           int k, hipStream_t stream)
{
    hipLaunchKernelGGL(multiply, dim3(n / TILE, (m + TILE - 1) / TILE), dim3(SIDE, SIDE), 0, stream, a, b, a_scale, b_scale, c, m, n,
                       k);
}
