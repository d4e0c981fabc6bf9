/* A wave for each query goes over the keys once, with a running maximum and sum. */
#include <hip/hip_runtime.h>

#include <math.h>
#include <stdint.h>

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

#define WARPS 4
#define MOST_PARTS (128 / warpSize) /* elements of a head that a lane holds */

__global__ void attend(const bf16 *q, const bf16 *k, const bf16 *v, bf16 *o, int queries,
                       int group, int seq, int dim)
{
    const int lane = threadIdx.x, query = blockIdx.x * WARPS + threadIdx.y;
    if (query >= queries)
        return;
    const size_t head = query / seq, keys = head / group * seq * dim;
    const float scale = rsqrtf((float)dim);
    float own[MOST_PARTS], sums[MOST_PARTS], largest = -INFINITY, total = 0;
    for (int p = 0; p < MOST_PARTS; p++) {
        int e = p * warpSize + lane;
        own[p] = e < dim ? to_f32(q[(size_t)query * dim + e]) : 0.0f;
        sums[p] = 0;
    }
    for (int key = 0; key <= query % seq; key++) {
        float score = 0;
        for (int p = 0; p < MOST_PARTS; p++) {
            int e = p * warpSize + lane;
            if (e < dim)
                score += own[p] * to_f32(k[keys + (size_t)key * dim + e]);
        }
        for (int offset = warpSize / 2; offset > 0; offset >>= 1)
            score += __shfl_xor(score, offset);
        score *= scale;
        const float now = fmaxf(largest, score), correction = expf(largest - now), weight = expf(score - now);
        largest = now;
        total = total * correction + weight;
        for (int p = 0; p < MOST_PARTS; p++) {
            int e = p * warpSize + lane;
            if (e < dim)
                sums[p] = sums[p] * correction + weight * to_f32(v[keys + (size_t)key * dim + e]);
        }
    }
    for (int p = 0; p < MOST_PARTS; p++) {
        int e = p * warpSize + lane;
        if (e < dim)
            o[(size_t)query * dim + e] = to_bf16(sums[p] / total);
    }
}

extern "C" void attention(const bf16 *q, const bf16 *k, const bf16 *v, bf16 *o, int batch,
                          int heads, int kv_heads, int seq, int head_dim, hipStream_t stream)
{
    int queries = batch * heads * seq;
    hipLaunchKernelGGL(attend, dim3((queries + WARPS - 1) / WARPS), dim3(warpSize, WARPS), 0, stream, q, k, v, o, queries,
                       heads / kv_heads, seq, head_dim);
}
