/* Least significant digit first, eight bits at a time: count, scan, scatter in order. */
#include <hip/hip_runtime.h>

#define THREADS 256 /* as many as a digit has values */
#define WARPS (THREADS / warpSize)
#define ROUNDS 16
#define TILE (THREADS * ROUNDS)
#define MOST_KEYS (1 << 26)
#define MOST_TILES (MOST_KEYS / TILE)

static unsigned *other, *counts, *totals;

/* The sign bit turned: unsigned order is then the order of the keys. */
__device__ unsigned digit_of(unsigned key, int shift)
{
    return (key ^ 0x80000000u) >> shift & 255u;
}

__global__ void count_digits(const unsigned *keys, unsigned *to, int n, int shift, int tiles)
{
    __shared__ unsigned own[THREADS];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int round = 0; round < ROUNDS; round++) {
        long long at = (long long)blockIdx.x * TILE + round * THREADS + threadIdx.x;
        if (at < n)
            atomicAdd(&own[digit_of(keys[at], shift)], 1u);
    }
    __syncthreads();
    to[(size_t)threadIdx.x * tiles + blockIdx.x] = own[threadIdx.x];
}

/* The sum of the threads before this one; *total: of all. */
__device__ unsigned scan_block(unsigned v, unsigned *total)
{
    __shared__ unsigned sums[THREADS / warpSize];
    const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    const unsigned own = v;
    for (int offset = 1; offset < warpSize; offset *= 2) {
        unsigned earlier = __shfl_up(v, offset);
        if (lane >= offset)
            v += earlier;
    }
    __syncthreads();
    if (lane == warpSize - 1)
        sums[warp] = v;
    __syncthreads();
    unsigned before = 0;
    *total = 0;
    for (int i = 0; i < WARPS; i++) {
        before += i < warp ? sums[i] : 0;
        *total += sums[i];
    }
    return before + v - own;
}

/* A block for each digit: how many of it are in the tiles before. */
__global__ void scan_digits(unsigned *in_tiles, unsigned *of_digits, int tiles)
{
    unsigned *row = in_tiles + (size_t)blockIdx.x * tiles, carry = 0, total;
    for (int first = 0; first < tiles; first += THREADS) {
        int at = first + threadIdx.x;
        unsigned before = scan_block(at < tiles ? row[at] : 0, &total);
        if (at < tiles)
            row[at] = carry + before;
        carry += total;
    }
    if (threadIdx.x == 0)
        of_digits[blockIdx.x] = carry;
}

__global__ void scatter(const unsigned *keys, unsigned *to, const unsigned *in_tiles, const unsigned *of_digits, int n, int shift,
                        int tiles)
{
    __shared__ unsigned next[THREADS], places[WARPS][THREADS];
    const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    unsigned total;
    next[threadIdx.x] = scan_block(of_digits[threadIdx.x], &total) + in_tiles[(size_t)threadIdx.x * tiles + blockIdx.x];
    for (int round = 0; round < ROUNDS; round++) {
        long long at = (long long)blockIdx.x * TILE + round * THREADS + threadIdx.x;
        const bool valid = at < n;
        const unsigned key = valid ? keys[at] : 0, digit = digit_of(key, shift);
        for (int i = 0; i < WARPS; i++)
            places[i][threadIdx.x] = 0;
        __syncthreads();
        unsigned long long same = __ballot(valid);
        for (int bit = 0; bit < 8; bit++) {
            unsigned long long set = __ballot(digit >> bit & 1);
            same &= digit >> bit & 1 ? set : ~set;
        }
        const int rank = __popcll(same & ((1ull << lane) - 1));
        if (valid && rank == 0)
            places[warp][digit] = __popcll(same);
        __syncthreads();
        unsigned place = next[threadIdx.x];
        for (int i = 0; i < WARPS; i++) {
            unsigned count = places[i][threadIdx.x];
            places[i][threadIdx.x] = place;
            place += count;
        }
        next[threadIdx.x] = place;
        __syncthreads();
        if (valid)
            to[places[warp][digit] + rank] = key;
        __syncthreads();
    }
}

extern "C" void sort(const int *input, int *output, int n, hipStream_t stream)
{
    if (n == 0 || n > MOST_KEYS)
        return;
    if (!other && (hipMalloc(&other, MOST_KEYS * sizeof *other) != hipSuccess ||
                   hipMalloc(&counts, (size_t)MOST_TILES * THREADS * sizeof *counts) != hipSuccess ||
                   hipMalloc(&totals, THREADS * sizeof *totals) != hipSuccess))
        return;
    const int tiles = (n + TILE - 1) / TILE;
    const unsigned *from = (const unsigned *)input;
    for (int pass = 0; pass < 4; pass++) {
        unsigned *to = pass % 2 ? (unsigned *)output : other;
        hipLaunchKernelGGL(count_digits, dim3(tiles), dim3(THREADS), 0, stream, from, counts, n, 8 * pass, tiles);
        hipLaunchKernelGGL(scan_digits, dim3(THREADS), dim3(THREADS), 0, stream, counts, totals, tiles);
        hipLaunchKernelGGL(scatter, dim3(tiles), dim3(THREADS), 0, stream, from, to, counts, totals, n, 8 * pass, tiles);
        from = to;
    }
}
