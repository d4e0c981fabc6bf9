/*
 * An element and its column make one 64-bit key, so that no two keys are equal and the largest are unique.
 *
 *   up to 1024 columns, k up to 32   a warp a row: the k-th of the lanes' largest elements is a bound that at least k elements
 *                                    reach and few more do; these are gathered and ranked by counting.
 *   otherwise                        a block a tile of a row, in the same manner with groups of threads for lanes.  It leaves k
 *                                    keys, of which the next launch makes tiles, until there is one tile to a row.
 */
#include <cuda_runtime.h>

#define WARP 32
#define ALL 0xffffffffu
typedef unsigned long long u64;

#define MAX_K 256
#define THREADS 512
#define EACH 16                                       /* elements a thread; half as many keys */
#define ROOM (MAX_K * (THREADS * EACH / (2 * MAX_K))) /* keys that can reach the bound */

/* Unsigned numbers in the order of the elements. */
__device__ __forceinline__ unsigned int to_order(float value)
{
    unsigned int bits = __float_as_uint(value + 0.0f); /* -0 is 0 */
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ __forceinline__ float from_order(unsigned int order)
{
    return __uint_as_float(order & 0x80000000u ? order & 0x7fffffffu : ~order);
}

/* Order of keys: by element, then the lower column first.  0 is below every key. */
__device__ __forceinline__ u64 make_key(float value, int column)
{
    return (u64)to_order(value) << 32 | ~(unsigned int)column;
}

__device__ __forceinline__ void write_key(u64 key, float *value, int *column)
{
    *value = from_order((unsigned int)(key >> 32));
    *column = (int)~(unsigned int)key;
}

__device__ __forceinline__ u64 larger(u64 a, u64 b)
{
    return a > b ? a : b;
}

__device__ __forceinline__ int count_larger(const u64 *keys, int n, u64 than)
{
    int larger = 0;
    for (int i = 0; i < n; i++)
        larger += keys[i] > than;
    return larger;
}

/* --- a warp a row --- */

#define WARPS 4

template <int N, int VECTOR>
__global__ void __launch_bounds__(WARPS *WARP)
    short_rows(const float *__restrict__ input, float *values, int *indices, int rows, int cols, int k)
{
    __shared__ u64 gathered[WARPS][N * WARP];
    const int lane = threadIdx.x % WARP;
    const long long row = blockIdx.x * (long long)WARPS + threadIdx.x / WARP;
    u64 *keys = gathered[threadIdx.x / WARP];
    if (row >= rows)
        return;
    input += row * cols;

    float v[N];
    float most = -INFINITY;
#pragma unroll
    for (int i = 0; i < N; i += VECTOR) {
        int at = i * WARP + lane * VECTOR;
        if constexpr (VECTOR == 4) {
            float4 q = at < cols ? __ldcs((const float4 *)(input + at))
                                 : make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
            v[i] = q.x, v[i + 1] = q.y, v[i + 2] = q.z, v[i + 3] = q.w;
        } else {
            v[i] = at < cols ? __ldcs(input + at) : -INFINITY;
        }
    }
#pragma unroll
    for (int i = 0; i < N; i++)
        most = fmaxf(most, v[i]);

    /* A lower bound of the k-th largest of the lanes' largest.  The lane's number takes the place of the lowest bits, so that
     * no two are equal. */
    unsigned int order = (to_order(most) & ~(WARP - 1u)) | (unsigned int)lane;
    for (int i = 1; i < k; i++)
        if (order == __reduce_max_sync(ALL, order))
            order = 0;
    float bound = from_order(__reduce_max_sync(ALL, order) & ~(WARP - 1u));
    bound = fmaxf(bound, -INFINITY); /* not a number if that lane has no element */

    int n = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        int column = i / VECTOR * VECTOR * WARP + lane * VECTOR + i % VECTOR;
        bool reaches = v[i] >= bound && column < cols;
        unsigned int lanes = __ballot_sync(ALL, reaches);
        if (reaches)
            keys[n + __popc(lanes & ((1u << lane) - 1))] = make_key(v[i], column);
        n += __popc(lanes);
    }
    __syncwarp();
    for (int i = lane; i < n; i += WARP) {
        int rank = count_larger(keys, n, keys[i]);
        if (rank < k)
            write_key(keys[i], values + row * k + rank, indices + row * k + rank);
    }
}

template <int N>
static void launch_short_rows(const float *input, float *values, int *indices, int rows, int cols, int k,
                              cudaStream_t stream)
{
    constexpr int vector = N >= 4 ? 4 : 1;
    int blocks = (rows - 1) / WARPS + 1;
    if (cols % vector == 0)
        short_rows<N, vector><<<blocks, WARPS * WARP, 0, stream>>>(input, values, indices, rows, cols, k);
    else
        short_rows<N, 1><<<blocks, WARPS * WARP, 0, stream>>>(input, values, indices, rows, cols, k);
}

/* --- a block a tile --- */

/* EACH elements a thread of a row, from `first` on. */
struct elements {
    static constexpr int N = EACH;
    const float *from;
    float v[N];
    int first, n;

    __device__ elements(const float *input, long long row, int first, int n) : from(input + row * n), first(first), n(n)
    {
    }
    __device__ int column(int i) const
    {
        return first + (i / 4 * THREADS + (int)threadIdx.x) * 4 + i % 4;
    }
    __device__ void load()
    {
        const bool even = n % 4 == 0;
#pragma unroll
        for (int i = 0; i < N; i += 4) {
            if (even && column(i) < n) {
                float4 q = __ldcs((const float4 *)(from + column(i)));
                v[i] = q.x, v[i + 1] = q.y, v[i + 2] = q.z, v[i + 3] = q.w;
                continue;
            }
#pragma unroll
            for (int j = i; j < i + 4; j++)
                v[j] = column(j) < n ? from[column(j)] : -INFINITY;
        }
    }
    __device__ u64 most() const
    {
        int best = 0;
        float value = v[0];
        /* In the order of columns: of equal elements the first stays.  What is outside comes last and beats nothing. */
#pragma unroll
        for (int i = 1; i < N; i++)
            if (v[i] > value)
                value = v[i], best = i;
        return column(0) < n ? make_key(value, column(best)) : 0;
    }
    /* The key, or 0 if it is less. */
    __device__ u64 at_least(u64 least, int i) const
    {
        if (!(v[i] >= fmaxf(from_order((unsigned int)(least >> 32)), -INFINITY)) || column(i) >= n)
            return 0;
        u64 key = make_key(v[i], column(i));
        return key >= least ? key : 0;
    }
};

/* Keys that an earlier launch has left. */
struct leftovers {
    static constexpr int N = EACH / 2;
    const u64 *from;
    u64 v[N];
    int first, n;

    __device__ leftovers(const u64 *keys, long long row, int first, int n) : from(keys + row * n), first(first), n(n)
    {
    }
    __device__ void load()
    {
#pragma unroll
        for (int i = 0; i < N; i++) {
            int at = first + i * THREADS + (int)threadIdx.x;
            v[i] = at < n ? from[at] : 0;
        }
    }
    __device__ u64 most() const
    {
        u64 most = v[0];
#pragma unroll
        for (int i = 1; i < N; i++)
            most = larger(most, v[i]);
        return most;
    }
    __device__ u64 at_least(u64 least, int i) const
    {
        return v[i] >= least ? v[i] : 0;
    }
};

/* The k largest of each tile of each row of n elements, in order.  `groups` is a power of two from 2 k on and at most THREADS. */
template <typename SOURCE, typename FROM, bool LAST>
__global__ void __launch_bounds__(THREADS, 3) tiles(const FROM *__restrict__ from, u64 *keys, float *values,
                                                    int *indices, int n, int k, int tiles_a_row, int groups)
{
    __shared__ u64 gathered[ROOM];
    __shared__ u64 most[THREADS];
    __shared__ u64 bound;
    __shared__ int count;
    const long long row = blockIdx.x / tiles_a_row;
    SOURCE source(from, row, (int)(blockIdx.x % tiles_a_row) * (THREADS * SOURCE::N), n);
    if (threadIdx.x == 0) {
        bound = 1; /* if less than k groups have a key: all keys reach it */
        count = 0;
    }
    source.load();

    const int group_size = THREADS / groups;
    u64 own = source.most();
    for (int step = group_size / 2; step; step /= 2)
        own = larger(own, __shfl_xor_sync(ALL, own, step));
    if (threadIdx.x % group_size == 0)
        most[threadIdx.x / group_size] = own;
    __syncthreads();
    if (threadIdx.x < groups) {
        own = most[threadIdx.x];
        if (own && count_larger(most, groups, own) == k - 1)
            bound = own;
    }
    __syncthreads();

    /* At most k groups have keys that reach the bound, so there is room for all of them. */
    const u64 least = bound;
#pragma unroll
    for (int i = 0; i < SOURCE::N; i++)
        if (u64 key = source.at_least(least, i))
            gathered[atomicAdd(&count, 1)] = key;
    __syncthreads();
    const int found = count;
    const long long to = LAST ? row * k : blockIdx.x * (long long)k;
    for (int i = threadIdx.x; i < found; i += THREADS) {
        int rank = count_larger(gathered, found, gathered[i]);
        if (rank >= k)
            continue;
        if constexpr (LAST)
            write_key(gathered[i], values + to + rank, indices + to + rank);
        else
            keys[to + rank] = gathered[i];
    }
    if constexpr (!LAST)
        for (int i = found + threadIdx.x; i < k; i += THREADS)
            keys[to + i] = 0;
}

template <typename SOURCE, typename FROM>
static int launch_tiles(const FROM *from, u64 *keys, float *values, int *indices, int rows, int n, int k,
                        cudaStream_t stream)
{
    int tile = THREADS * SOURCE::N, tiles_a_row = (n - 1) / tile + 1, groups = WARP;
    while (groups < 2 * k)
        groups *= 2;
    unsigned int blocks = (unsigned int)tiles_a_row * (unsigned int)rows;
    if (tiles_a_row == 1)
        tiles<SOURCE, FROM, true>
            <<<blocks, THREADS, 0, stream>>>(from, keys, values, indices, n, k, tiles_a_row, groups);
    else
        tiles<SOURCE, FROM, false>
            <<<blocks, THREADS, 0, stream>>>(from, keys, values, indices, n, k, tiles_a_row, groups);
    return tiles_a_row;
}

/* Elements rows * cols up to 2^27 leave at most this many keys, and those again half as many. */
#define KEYS (1LL << 24)

extern "C" void top_k(const float *input, float *values, int *indices, int rows, int cols, int k, cudaStream_t stream)
{
    static u64 *keys;
    if (!keys)
        cudaMalloc(&keys, (KEYS + KEYS / 2) * sizeof *keys);
    if (k <= WARP && cols <= 1024) {
        auto launch = cols <= 32    ? launch_short_rows<1>
                      : cols <= 128 ? launch_short_rows<4>
                      : cols <= 256 ? launch_short_rows<8>
                      : cols <= 512 ? launch_short_rows<16>
                                    : launch_short_rows<32>;
        launch(input, values, indices, rows, cols, k, stream);
        return;
    }
    u64 *from = keys + KEYS, *to = keys;
    int tiles_a_row = launch_tiles<elements>(input, to, values, indices, rows, cols, k, stream);
    while (tiles_a_row > 1) {
        u64 *other = from;
        from = to;
        to = other;
        tiles_a_row = launch_tiles<leftovers>(from, to, values, indices, rows, tiles_a_row * k, k, stream);
    }
}
