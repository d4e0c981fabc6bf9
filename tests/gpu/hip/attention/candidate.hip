#include <hip/hip_bf16.h>
#include <hip/hip_runtime.h>

#include <math.h>

#define WARPS 4
#define MOST_PARTS (128 / warpSize) /* elements of a head that a lane holds */

__global__ void attend(const __hip_bfloat16 *q, const __hip_bfloat16 *k, const __hip_bfloat16 *v, __hip_bfloat16 *o, int queries,
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
        own[p] = e < dim ? __bfloat162float(q[(size_t)query * dim + e]) : 0.0f;
        sums[p] = 0;
    }
    for (int key = 0; key <= query % seq; key++) {
        float score = 0;
        for (int p = 0; p < MOST_PARTS; p++) {
            int e = p * warpSize + lane;
            if (e < dim)
                score += own[p] * __bfloat162float(k[keys + (size_t)key * dim + e]);
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
                sums[p] = sums[p] * correction + weight * __bfloat162float(v[keys + (size_t)key * dim + e]);
        }
    }
    for (int p = 0; p < MOST_PARTS; p++) {
        int e = p * warpSize + lane;
        if (e < dim)
            o[(size_t)query * dim + e] = __float2bfloat16(sums[p] / total);
    }
}

extern "C" void attention(const __hip_bfloat16 *q, const __hip_bfloat16 *k, const __hip_bfloat16 *v, __hip_bfloat16 *o, int batch,
                          int heads, int kv_heads, int seq, int head_dim, hipStream_t stream)
{
    int queries = batch * heads * seq;
    hipLaunchKernelGGL(attend, dim3((queries + WARPS - 1) / WARPS), dim3(warpSize, WARPS), 0, stream, q, k, v, o, queries,
                       heads / kv_heads, seq, head_dim);
}
