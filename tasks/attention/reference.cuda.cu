/*
 * Double precision on the tensor cores, in one pass over the keys: a warp has 8 queries of a head, and sums relative to the
 * largest score so far.  The scores' product leaves in a lane the scores of two neighbouring keys; as the order of keys does
 * not matter, the next product takes them as they lie.
 */
#include <cmath>
#include <cstdint>
#include <cuda_bf16.h>

#define WARP 32
#define WARPS 8
#define THREADS (WARPS * WARP)
#define QUERIES (8 * WARPS)
#define KEYS 16
#define MAX_DIM 128
#define ALL 0xffffffffu

/* The rows' padding spreads what a warp reads over all banks. */
struct tiles {
    double k[KEYS][MAX_DIM + 4], v[KEYS][MAX_DIM + 2];
};

struct problem {
    const __nv_bfloat16 *q, *k, *v;
    double *o;
    int64_t group, seq, dim;
};

/* c += a * b for 8 x 4 by 4 x 8: lane l holds a[l / 4][l % 4], b[l % 4][l / 4] and two neighbours of c's row l / 4. */
static __device__ __forceinline__ void multiply_add(double c[2], double a, double b)
{
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a), "d"(b));
}

/* Of the four lanes that share a row. */
static __device__ __forceinline__ double largest_of_row(double v)
{
    v = fmax(v, __shfl_xor_sync(ALL, v, 1));
    return fmax(v, __shfl_xor_sync(ALL, v, 2));
}

static __device__ __forceinline__ double sum_of_row(double v)
{
    v += __shfl_xor_sync(ALL, v, 1);
    return v + __shfl_xor_sync(ALL, v, 2);
}

static __global__ void __launch_bounds__(THREADS) attend(const problem p)
{
    __shared__ tiles t;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int64_t head = blockIdx.x, row0 = (gridDim.y - 1 - blockIdx.y) * (int64_t)QUERIES;
    const int64_t row = row0 + 8 * warp + lane / 4, last_row = row0 + 8 * warp + 7;
    const int64_t keys = head / p.group * p.seq * p.dim, end = min(p.seq, row0 + QUERIES);
    const double scale = 1 / sqrt((double)p.dim);

    double query[MAX_DIM / 4], sums[MAX_DIM / 8][2] = {}, largest = -INFINITY, total = 0;
#pragma unroll
    for (int d = 0; d < MAX_DIM; d += 4) {
        int at = d + lane % 4;
        query[d / 4] = row < p.seq && at < p.dim
                           ? (double)__bfloat162float(p.q[(head * p.seq + row) * p.dim + at])
                           : 0;
    }
    for (int64_t key0 = 0; key0 < end; key0 += KEYS) {
        __syncthreads(); /* the tiles before these are done with */
        for (int i = threadIdx.x; i < KEYS * MAX_DIM; i += THREADS) {
            int j = i / MAX_DIM, d = i % MAX_DIM;
            bool inside = key0 + j < p.seq && d < p.dim;
            int64_t from = keys + (key0 + j) * p.dim + d;
            t.k[j][d] = inside ? (double)__bfloat162float(p.k[from]) : 0;
            t.v[j][d] = inside ? (double)__bfloat162float(p.v[from]) : 0;
        }
        __syncthreads();
        if (key0 > last_row)
            continue; /* the same for all of the warp */

        double scores[KEYS / 8][2] = {}, most = largest;
#pragma unroll
        for (int d = 0; d < MAX_DIM; d += 4)
#pragma unroll
            for (int j = 0; j < KEYS; j += 8)
                if (d < p.dim)
                    multiply_add(scores[j / 8], query[d / 4], t.k[j + lane / 4][d + lane % 4]);
#pragma unroll
        for (int j = 0; j < KEYS; j += 8)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                double &score = scores[j / 8][h];
                score = key0 + j + lane % 4 * 2 + h <= row ? score * scale : -INFINITY;
                most = fmax(most, score);
            }
        most = largest_of_row(most); /* not -inf: key 0 came first */
        const double correction = exp(largest - most);
        largest = most;
        total *= correction;
#pragma unroll
        for (int n = 0; n < MAX_DIM / 8; n++)
            sums[n][0] *= correction, sums[n][1] *= correction;
#pragma unroll
        for (int j = 0; j < KEYS; j += 8)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const double weight = exp(scores[j / 8][h] - most);
                total += weight;
#pragma unroll
                for (int d = 0; d < MAX_DIM; d += 8)
                    if (d < p.dim)
                        multiply_add(sums[d / 8], weight, t.v[j + lane % 4 * 2 + h][d + lane / 4]);
            }
    }
    total = sum_of_row(total);
#pragma unroll
    for (int d = 0; d < MAX_DIM; d += 8)
#pragma unroll
        for (int h = 0; h < 2; h++)
            if (row < p.seq && d + lane % 4 * 2 + h < p.dim)
                p.o[(head * p.seq + row) * p.dim + d + lane % 4 * 2 + h] = sums[d / 8][h] / total;
}

extern "C" int reference_cuda(const __nv_bfloat16 *q, const __nv_bfloat16 *k,
                              const __nv_bfloat16 *v, double *o, int64_t batch, int64_t heads,
                              int64_t kv_heads, int64_t seq, int64_t head_dim, cudaStream_t stream)
{
    const int64_t all_heads = batch * heads, blocks = (seq + QUERIES - 1) / QUERIES;
    if (all_heads == 0 || blocks == 0)
        return cudaSuccess;
    if (head_dim > MAX_DIM || all_heads > INT32_MAX || blocks > 65535)
        return cudaErrorInvalidConfiguration;
    const problem p = {q, k, v, o, heads / kv_heads, seq, head_dim};
    attend<<<dim3((unsigned int)all_heads, (unsigned int)blocks), THREADS, 0, stream>>>(p);
    return cudaGetLastError();
}
