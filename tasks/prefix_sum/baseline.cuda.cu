/*
 * One pass with look-back (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016): a
 * block scans a tile, publishes the tile's sum, and adds up what the tiles before it have published.  The input is read once
 * and the output written once.
 *
 * What a tile publishes is one word, so that it is seen whole: a double whose two lowest bits say what it is.
 */
#include <cuda_runtime.h>

#define WARP 32
#define ALL 0xffffffffu
#define THREADS 256
#define WARPS (THREADS / WARP)
#define VECTORS 4                    /* of 16 bytes, a thread */
#define TILE (THREADS * VECTORS * 4) /* elements */
#define MAX_TILES ((1LL << 31) / TILE)

#define NOTHING 0ULL  /* as cudaMemsetAsync leaves it */
#define OWN_SUM 1ULL  /* of the tile alone */
#define ALL_SUMS 2ULL /* of this tile and all before it */
#define STATE 3ULL

struct workspace {
    unsigned int next_tile, unused;
    unsigned long long tiles[MAX_TILES];
};

__device__ __forceinline__ void publish(unsigned long long *to, double sum, unsigned long long state)
{
    unsigned long long word = ((unsigned long long)__double_as_longlong(sum) & ~STATE) | state;
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(word) : "memory");
}

__device__ __forceinline__ unsigned long long published(const unsigned long long *from)
{
    unsigned long long word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
    return word;
}

/* The sum of all tiles before `tile`, for every lane of the warp that calls it. */
__device__ __forceinline__ double look_back(const unsigned long long *tiles, long long tile, int lane)
{
    double sum = 0;
    for (long long last = tile - 1;; last -= WARP) {
        /* Lane 0 has the nearest tile.  Before the first one all sums are 0. */
        long long mine = last - lane;
        unsigned long long word = ALL_SUMS;
        if (mine >= 0)
            while (((word = published(tiles + mine)) & STATE) == NOTHING)
                __nanosleep(20);
        unsigned int complete = __ballot_sync(ALL, (word & STATE) == ALL_SUMS);
        int end = complete ? __ffs((int)complete) - 1 : WARP - 1;
        double part = lane <= end ? __longlong_as_double((long long)(word & ~STATE)) : 0;
#pragma unroll
        for (int step = WARP / 2; step; step /= 2)
            part += __shfl_xor_sync(ALL, part, step);
        sum += part;
        if (complete)
            return sum;
    }
}

__device__ __forceinline__ float scan_warp(float v, int lane)
{
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) {
        float before = __shfl_up_sync(ALL, v, step);
        if (lane >= step)
            v += before;
    }
    return v;
}

__device__ __forceinline__ float4 load(const float *x, long long at, long long n)
{
    if (at + 4 <= n)
        return __ldcs((const float4 *)(x + at));
    float4 v = make_float4(0, 0, 0, 0);
    if (at < n)
        v.x = x[at];
    if (at + 1 < n)
        v.y = x[at + 1];
    if (at + 2 < n)
        v.z = x[at + 2];
    return v;
}

__device__ __forceinline__ void store(float *y, long long at, long long n, float4 v)
{
    if (at + 4 <= n) {
        __stcs((float4 *)(y + at), v);
        return;
    }
    if (at < n)
        y[at] = v.x;
    if (at + 1 < n)
        y[at + 1] = v.y;
    if (at + 2 < n)
        y[at + 2] = v.z;
}

/* ALONE: the vector is a single tile, and there is no workspace. */
template <bool ALONE>
__global__ void __launch_bounds__(THREADS, 1536 / THREADS)
    scan_tiles(const float *__restrict__ x, float *__restrict__ y, long long n, workspace *w)
{
    __shared__ float warp_sums[WARPS];
    __shared__ float before_tile;
    __shared__ unsigned int ticket;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    long long tile = 0;
    if (!ALONE) {
        /* Tiles are handed out in the order in which blocks begin, so that those waited for are at work. */
        if (threadIdx.x == 0)
            ticket = atomicAdd(&w->next_tile, 1u);
        __syncthreads();
        tile = ticket;
    }

    /* A warp has VECTORS rows of 128 neighbours. */
    const long long first = tile * TILE + warp * (VECTORS * 4 * WARP) + lane * 4;
    float4 v[VECTORS];
    float before[VECTORS], sum = 0; /* of the warp's elements */
#pragma unroll
    for (int i = 0; i < VECTORS; i++)
        v[i] = load(x, first + i * (4 * WARP), n);
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        v[i].y += v[i].x;
        v[i].z += v[i].y;
        v[i].w += v[i].z;
        float upto = scan_warp(v[i].w, lane), previous = __shfl_up_sync(ALL, upto, 1);
        before[i] = sum + (lane ? previous : 0);
        sum += __shfl_sync(ALL, upto, WARP - 1);
    }
    if (lane == 0)
        warp_sums[warp] = sum;
    __syncthreads();

    float before_warp = 0, total = 0;
#pragma unroll
    for (int i = 0; i < WARPS; i++) {
        before_warp += i < warp ? warp_sums[i] : 0;
        total += warp_sums[i];
    }
    if (!ALONE) {
        if (warp == 0) {
            if (lane == 0)
                publish(w->tiles + tile, total, tile ? OWN_SUM : ALL_SUMS);
            double prefix = look_back(w->tiles, tile, lane);
            if (lane == 0) {
                if (tile)
                    publish(w->tiles + tile, prefix + total, ALL_SUMS);
                before_tile = (float)prefix;
            }
        }
        __syncthreads();
        before_warp += before_tile;
    }
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        float b = before_warp + before[i];
        store(y, first + i * (4 * WARP), n, make_float4(b + v[i].x, b + v[i].y, b + v[i].z, b + v[i].w));
    }
}

extern "C" void prefix_sum(const float *input, float *output, int n, cudaStream_t stream)
{
    static workspace *w;
    if (!w)
        cudaMalloc(&w, sizeof *w);
    if (n <= 0)
        return;
    unsigned int tiles = (unsigned int)((n + (TILE - 1LL)) / TILE);
    if (tiles == 1) {
        scan_tiles<true><<<1, THREADS, 0, stream>>>(input, output, n, w);
        return;
    }
    cudaMemsetAsync(w, 0, 8 + tiles * sizeof w->tiles[0], stream);
    scan_tiles<false><<<tiles, THREADS, 0, stream>>>(input, output, n, w);
}
