/*
 * fp8 on the tensor cores.  A step is 128 deep, so that one pair of scales holds for it: its products are summed by the tensor
 * cores, and the sum, scaled, is added in f32.  On Hopper a warpgroup multiplies 64 rows by 128 columns straight from shared
 * memory, which the copy engine fills several stages ahead.  Where there are few rows, and on other cards, a warp
 * makes a rectangle of c with fragments loaded from tiles that asynchronous copies bring; the 16-byte pieces of a row are permuted by the row's number, so that neither the copies nor the
 * loads of matrices meet in a bank.  Where the tiles of c are fewer than the processors can hold, the depth is split, and a
 * second kernel adds the parts.
 */
#include <cstdint>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#define WARP 32
#define BK 128   /* depth of a step, bytes of a row, and the blocks that scales are for */
#define PIECE 16 /* bytes */
#define GROUP 8  /* tiles of c that share rows of b and are made at the same time */
#define PARTIAL_BYTES (16 << 20)

typedef __nv_bfloat16 bf16;

/* --- instructions --- */

__device__ __forceinline__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

/* 16 bytes; zeros instead of what is outside. */
__device__ __forceinline__ void copy_async(void *to, const void *from, bool inside)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
                 "r"(inside ? 16 : 0)
                 : "memory");
}

__device__ __forceinline__ void commit_copies()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int PENDING> __device__ __forceinline__ void wait_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

/* Four matrices of 8 rows of 16 bytes; lane l gives the address of row l % 8 of matrix l / 8. */
__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], const uint8_t *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/* c += a b for 16 x 32 by 32 x 8: c holds two neighbours of row l / 4 and two of the row 8 further down. */
__device__ __forceinline__ void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* --- tiles --- */

/* A tile of BM x BN by warps of WM x WN each. */
template <int BM, int BN, int WM, int WN, int STAGES> struct shape {
    static constexpr int WARPS = BM / WM * (BN / WN), THREADS = WARPS * WARP;
    static constexpr int PITCH = WN + 8; /* of a warp's result; spreads its rows over the banks */
    static constexpr int RING = STAGES * (BM + BN) * BK, RESULT = WARPS * WM * PITCH * (int)sizeof(bf16);
    static constexpr int BYTES = RING > RESULT ? RING : RESULT;
    static_assert(BK % BN == 0, "a tile has one scale of b");
    static_assert(THREADS / (BK / PIECE) % 8 == 0 && BM % (THREADS / (BK / PIECE)) == 0, "what a thread fetches");
};

struct problem {
    const uint8_t *a, *b;
    const float *a_scale, *b_scale;
    bf16 *c;
    int m, n, k;
};

template <int BM, int BN, int WM, int WN, int STAGES, int BLOCKS>
__global__ void __launch_bounds__(shape<BM, BN, WM, WN, STAGES>::THREADS, BLOCKS)
    tiles(const problem p, float *__restrict__ partial, int steps_part)
{
    using S = shape<BM, BN, WM, WN, STAGES>;
    extern __shared__ __align__(128) uint8_t memory[];
    uint8_t *const a_tiles = memory, *const b_tiles = memory + STAGES * BM * BK;
    const int m = p.m, n = p.n, k = p.k, k_blocks = k / BK;
    const int t = threadIdx.x, lane = t % WARP, warp = t / WARP;
    const int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;

    /* Blocks that run together make GROUP tiles down for each step to the right, so that both inputs are found in L2. */
    const int down = (m + BM - 1) / BM, across = n / BN;
    const int first = blockIdx.x / (GROUP * across) * GROUP, in_group = blockIdx.x % (GROUP * across);
    const int height = min(GROUP, down - first);
    const int row0 = (first + in_group % height) * BM, col0 = in_group / height * BN;
    const int begin = blockIdx.y * steps_part, steps = min(steps_part, k_blocks - begin);

    /* What this thread fetches: the same piece of every ROWS-th row, which has the same place in all of them. */
    constexpr int ROWS = S::THREADS / (BK / PIECE);
    const int my_row = t / (BK / PIECE), my_piece = t % (BK / PIECE);
    const int to = my_row * BK + (my_piece ^ my_row % 8) * PIECE;
    const uint8_t *const from_a = p.a + (long long)(row0 + my_row) * k + begin * BK + my_piece * PIECE;
    const uint8_t *const from_b = p.b + (long long)(col0 + my_row) * k + begin * BK + my_piece * PIECE;
    auto fetch = [&](int step) {
        uint8_t *to_a = a_tiles + step % STAGES * BM * BK + to, *to_b = b_tiles + step % STAGES * BN * BK + to;
#pragma unroll
        for (int row = 0; row < BM; row += ROWS) {
            bool inside = row0 + my_row + row < m;
            copy_async(to_a + row * BK, inside ? from_a + (long long)row * k + step * BK : p.a, inside);
        }
#pragma unroll
        for (int row = 0; row < BN; row += ROWS)
            copy_async(to_b + row * BK, from_b + (long long)row * k + step * BK, true);
    };

    float sum[WM / 16][WN / 8][4] = {};
#pragma unroll
    for (int step = 0; step < STAGES - 1; step++) {
        if (step < steps)
            fetch(step);
        commit_copies();
    }
    for (int step = 0; step < steps; step++) {
        /* The scales of this thread's rows, on their way while the tiles are waited for. */
        float scale[WM / 8];
        const float b_scale = __ldg(p.b_scale + (long long)(col0 / BK) * k_blocks + begin + step);
#pragma unroll
        for (int i = 0; i < WM / 8; i++) {
            int row = min(row0 + warp_row + i * 8 + lane / 4, m - 1);
            scale[i] = __ldg(p.a_scale + (long long)row * k_blocks + begin + step) * b_scale;
        }
        wait_copies<STAGES - 2>();
        __syncthreads();
        if (step + STAGES - 1 < steps)
            fetch(step + STAGES - 1);
        commit_copies();
        const uint8_t *as = a_tiles + step % STAGES * BM * BK, *bs = b_tiles + step % STAGES * BN * BK;
        uint32_t y[BK / 32][WN / 16][4];
#pragma unroll
        for (int d = 0; d < BK / 32; d++)
#pragma unroll
            for (int j = 0; j < WN / 16; j++) {
                int row = warp_col + j * 16 + lane / 16 * 8 + lane % 8, piece = d * 2 + lane / 8 % 2;
                load_matrices(y[d][j], bs + row * BK + (piece ^ row % 8) * PIECE);
            }
#pragma unroll
        for (int i = 0; i < WM / 16; i++) {
            float part[WN / 8][4] = {};
#pragma unroll
            for (int d = 0; d < BK / 32; d++) {
                uint32_t x[4];
                int row = warp_row + i * 16 + lane % 16, piece = d * 2 + lane / 16;
                load_matrices(x, as + row * BK + (piece ^ row % 8) * PIECE);
#pragma unroll
                for (int j = 0; j < WN / 8; j++)
                    multiply_add(part[j], x, y[d][j / 2][j % 2 * 2], y[d][j / 2][j % 2 * 2 + 1]);
            }
#pragma unroll
            for (int j = 0; j < WN / 8; j++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    sum[i][j][e] = fmaf(part[j][e], scale[i * 2 + e / 2], sum[i][j][e]);
        }
    }

    if (partial) {
        partial += (long long)blockIdx.y * m * n;
#pragma unroll
        for (int i = 0; i < WM / 8; i++)
#pragma unroll
            for (int j = 0; j < WN / 8; j++) {
                int row = row0 + warp_row + i * 8 + lane / 4, col = col0 + warp_col + j * 8 + lane % 4 * 2;
                const float *v = &sum[i / 2][j][i % 2 * 2];
                if (row < m && col < n)
                    *(float2 *)(partial + (long long)row * n + col) = make_float2(v[0], v[1]);
            }
        return;
    }
    /* Through shared memory, to store 16 bytes at a time. */
    wait_copies<0>();
    __syncthreads();
    bf16 *result = (bf16 *)memory + warp * WM * S::PITCH;
#pragma unroll
    for (int i = 0; i < WM / 8; i++)
#pragma unroll
        for (int j = 0; j < WN / 8; j++) {
            const float *v = &sum[i / 2][j][i % 2 * 2];
            *(__nv_bfloat162 *)(result + (i * 8 + lane / 4) * S::PITCH + j * 8 + lane % 4 * 2) =
                __floats2bfloat162_rn(v[0], v[1]);
        }
    __syncwarp();
    for (int at = lane; at < WM * (WN / 8); at += WARP) {
        int in_row = at / (WN / 8), in_col = at % (WN / 8) * 8;
        int row = row0 + warp_row + in_row, col = col0 + warp_col + in_col;
        if (row < m)
            *(uint4 *)(p.c + (long long)row * n + col) = *(const uint4 *)(result + in_row * S::PITCH + in_col);
    }
}

/* --- tiles on Hopper --- */

__device__ __forceinline__ void barrier_init(uint32_t barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity)
{
    uint32_t done;
    do {
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.b32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    } while (!done);
}

/* One arrival; the phase also waits for so many bytes from the copy engine. */
__device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void barrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/* A box whose first element is (x, y). */
__device__ __forceinline__ void fetch_box(uint32_t to, const CUtensorMap *map, uint32_t barrier, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(x), "r"(y)
                 : "memory");
}

__device__ __forceinline__ void copy_scale(uint32_t to, const float *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

__device__ __forceinline__ float load_scale(uint32_t from)
{
    float x;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(from) : "memory");
    return x;
}

/* Rows of 128 bytes whose 16-byte pieces are permuted by the row's number, 8 rows in 1024 bytes. */
__device__ __forceinline__ uint64_t matrix(uint32_t address)
{
    return (uint64_t)(address >> 4) | 1ull << 16 | (uint64_t)(1024 >> 4) << 32 | 1ull << 62;
}

#define OUT4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define OUT16(d, i) OUT4(d, i), OUT4(d, i + 4), OUT4(d, i + 8), OUT4(d, i + 12)
#define OUT64(d, i) OUT16(d, i), OUT16(d, i + 16), OUT16(d, i + 32), OUT16(d, i + 48)
#define NAMES_0_63                                                                                                     \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, "        \
    "%23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, "        \
    "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

/* d = a b, or d += a b with add, for 64 x 32 by 32 x 128; depth along the rows of both. */
__device__ __forceinline__ void multiply_wide(float (&d)[64], uint64_t a, uint64_t b, int add)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {" NAMES_0_63 "}, %64, %65, p, 1, 1;\n}"
                 : OUT64(d, 0)
                 : "l"(a), "l"(b), "r"(add));
}

/* The sums are the tensor cores' until a wait says otherwise: the compiler must neither move nor copy them before. */
__device__ __forceinline__ void hold(float (&d)[64])
{
#pragma unroll
    for (int i = 0; i < 64; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}

/* Tiles of BM x 128. */
template <int BM, int STAGES> struct wide_shape {
    static constexpr int GROUPS = BM < 128 ? 1 : 2, THREADS = (GROUPS + 1) * 128; /* one warpgroup fetches */
    static constexpr int WAVES = BM / 64 / GROUPS; /* what a warpgroup multiplies one after the other */
    static constexpr int A_BYTES = BM * BK, B_BYTES = BK * BK, TILES = A_BYTES + B_BYTES;
    static constexpr int SCALES = (BM + 1) * 4; /* bytes: one a row, and that of b */
    static constexpr int BYTES = STAGES * (TILES + SCALES + 16) + 1024 + 16; /* tiles start on 1024 bytes */
};

template <int BM, int STAGES>
__global__ void __launch_bounds__(wide_shape<BM, STAGES>::THREADS, 1)
    wide_tiles(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map, const problem p,
               float *__restrict__ partial, int steps_part)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using S = wide_shape<BM, STAGES>;
    extern __shared__ __align__(128) uint8_t memory[];
    const uint32_t tiles_at = (shared_address(memory) + 1023) / 1024 * 1024;
    const uint32_t full = tiles_at + STAGES * S::TILES, empty = full + STAGES * 8; /* a barrier of 8 bytes a stage */
    const uint32_t scales_at = empty + STAGES * 8;
    const int role = threadIdx.x / 128, warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const int m = p.m, n = p.n, k_blocks = p.k / BK;

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(full + i * 8, 1 + WARP);
            barrier_init(empty + i * 8, S::GROUPS * 4); /* every warp that multiplies */
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    /* What a block makes one after the other: tiles of one part of the depth, then those of the next. */
    const int down = (m + BM - 1) / BM, across = (n + BK - 1) / BK;
    const int items = down * across * ((k_blocks + steps_part - 1) / steps_part);
    int row0, col0, begin, steps, part;
    auto find = [&](int item) {
        part = item / (down * across), item %= down * across;
        const int first = item / (GROUP * across) * GROUP, in_group = item % (GROUP * across);
        const int height = min(GROUP, down - first);
        row0 = (first + in_group % height) * BM, col0 = in_group / height * BK;
        begin = part * steps_part, steps = min(steps_part, k_blocks - begin);
    };
    int stage = 0;
    uint32_t phase = 0;
    auto advance = [&]() {
        if (++stage == STAGES)
            stage = 0, phase ^= 1;
    };

    if (role == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            for (int item = blockIdx.x; item < items; item += gridDim.x) {
                find(item);
                for (int step = 0; step < steps; step++, advance()) {
                    const uint32_t to = tiles_at + stage * S::TILES, barrier = full + stage * 8;
                    const int k0 = (begin + step) * BK;
                    barrier_wait(empty + stage * 8, phase ^ 1);
                    barrier_expect(barrier, S::TILES);
                    fetch_box(to, &a_map, barrier, k0, row0);
                    fetch_box(to + S::A_BYTES, &b_map, barrier, k0, col0);
                }
            }
        } else if (warp == 1) {
            for (int item = blockIdx.x; item < items; item += gridDim.x) {
                find(item);
                for (int step = 0; step < steps; step++, advance()) {
                    barrier_wait(empty + stage * 8, phase ^ 1);
                    const uint32_t to = scales_at + stage * S::SCALES;
#pragma unroll 1
                    for (int i = lane; i < BM; i += WARP)
                        copy_scale(to + i * 4, p.a_scale + (long long)min(row0 + i, m - 1) * k_blocks + begin + step);
                    if (lane == 0)
                        copy_scale(to + BM * 4, p.b_scale + (long long)(min(col0, n - 1) / BK) * k_blocks + begin + step);
                    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(full + stage * 8) : "memory");
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(S::GROUPS == 2 ? 232 : 200));
        const int warp_row = (role - 1) * S::WAVES * 64 + warp % 4 * 16 + lane / 4;
        for (int item = blockIdx.x; item < items; item += gridDim.x) {
            find(item);
            float sum[S::WAVES][64] = {};
            for (int step = 0; step < steps; step++, advance()) {
                const uint32_t at = tiles_at + stage * S::TILES, scales = scales_at + stage * S::SCALES;
                barrier_wait(full + stage * 8, phase);
                const float b_scale = load_scale(scales + BM * 4);
#pragma unroll
                for (int wave = 0; wave < S::WAVES; wave++) {
                    const uint32_t a_at = at + ((role - 1) * S::WAVES + wave) * 64 * BK, b_at = at + S::A_BYTES;
                    const float above = load_scale(scales + (warp_row + wave * 64) * 4) * b_scale;
                    const float below = load_scale(scales + (warp_row + wave * 64 + 8) * 4) * b_scale;
                    float products[64];
                    hold(products);
                    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
                    for (int d = 0; d < BK; d += 32)
                        multiply_wide(products, matrix(a_at + d), matrix(b_at + d), d);
                    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                    hold(products);
                    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
                    hold(products);
                    if (wave == S::WAVES - 1 && lane == 0)
                        barrier_arrive(empty + stage * 8);
#pragma unroll
                    for (int i = 0; i < 64; i++)
                        sum[wave][i] = fmaf(products[i], i % 4 < 2 ? above : below, sum[wave][i]);
                }
            }

#pragma unroll
            for (int wave = 0; wave < S::WAVES; wave++)
#pragma unroll
                for (int j = 0; j < BK / 8; j += 4)
#pragma unroll
                    for (int half = 0; half < 2; half++) {
                        const int row = row0 + warp_row + wave * 64 + half * 8;
                        const float *v = sum[wave] + j * 4 + half * 2;
                        if (partial) {
                            float *to = partial + ((long long)part * m + row) * n + col0 + j * 8 + lane % 4 * 2;
#pragma unroll
                            for (int i = 0; i < 4; i++)
                                if (row < m && col0 < n)
                                    *(float2 *)(to + i * 8) = make_float2(v[i * 4], v[i * 4 + 1]);
                            continue;
                        }
                        /* Four lanes have two neighbours each of four times eight; afterwards each has eight. */
                        uint32_t x[4];
#pragma unroll
                        for (int i = 0; i < 4; i++) {
                            __nv_bfloat162 pair = __floats2bfloat162_rn(v[i * 4], v[i * 4 + 1]);
                            x[i] = *(const uint32_t *)&pair;
                        }
                        auto trade = [&](uint32_t &low, uint32_t &high, int with) {
                            const bool upper = lane & with;
                            const uint32_t got = __shfl_xor_sync(0xffffffffu, upper ? low : high, with);
                            (upper ? low : high) = got;
                        };
                        trade(x[0], x[1], 1), trade(x[2], x[3], 1), trade(x[0], x[2], 2), trade(x[1], x[3], 2);
                        if (row < m && col0 < n)
                            *(uint4 *)(p.c + (long long)row * n + col0 + (j + lane % 4) * 8) =
                                make_uint4(x[0], x[1], x[2], x[3]);
                    }
        }
    }
#else
    __trap();
#endif
}

/* Four elements a thread; their number is a multiple of 128. */
__global__ void __launch_bounds__(256)
    add_parts(const float *__restrict__ partial, bf16 *__restrict__ c, int count, int parts)
{
    int at = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (at >= count)
        return;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int i = 0; i < parts; i++) {
        float4 v = *(const float4 *)(partial + (long long)i * count + at);
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
    }
    *(__nv_bfloat162 *)(c + at) = __floats2bfloat162_rn(sum.x, sum.y);
    *(__nv_bfloat162 *)(c + at + 2) = __floats2bfloat162_rn(sum.z, sum.w);
}

/* --- launches --- */

static int processors;
static float *partials;

template <int BM, int BN, int WM, int WN, int STAGES, int BLOCKS>
static void launch(const problem &p, cudaStream_t stream)
{
    using S = shape<BM, BN, WM, WN, STAGES>;
    static bool ready;
    if (!ready) {
        cudaFuncSetAttribute(tiles<BM, BN, WM, WN, STAGES, BLOCKS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             S::BYTES);
        ready = true;
    }
    long long count = ((p.m + BM - 1LL) / BM) * (p.n / BN), elements = (long long)p.m * p.n;
    int depth = p.k / BK, parts = 1;
    /* As many blocks as run at a time, each with at least four steps. */
    while (partials && (parts + 1) * count <= (long long)processors * BLOCKS && (parts + 1) * 4 <= depth &&
           (parts + 1) * elements * (long long)sizeof(float) <= PARTIAL_BYTES)
        parts++;
    int steps_part = (depth + parts - 1) / parts;
    parts = (depth + steps_part - 1) / steps_part;
    tiles<BM, BN, WM, WN, STAGES, BLOCKS>
        <<<dim3((unsigned)count, parts), S::THREADS, S::BYTES, stream>>>(p, parts > 1 ? partials : nullptr, steps_part);
    if (parts > 1)
        add_parts<<<(unsigned)((elements / 4 + 255) / 256), 256, 0, stream>>>(partials, p.c, (int)elements, parts);
}

static decltype(&cuTensorMapEncodeTiled) encode;

/* A row-major matrix of which the copy engine takes boxes of BK columns. */
static bool describe(CUtensorMap *map, const uint8_t *p, int rows, int cols, int box_rows)
{
    cuuint64_t size[2] = {(cuuint64_t)cols, (cuuint64_t)rows}, pitch[1] = {(cuuint64_t)cols};
    cuuint32_t box[2] = {BK, (cuuint32_t)box_rows}, step[2] = {1, 1};
    return encode(map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, (void *)p, size, pitch, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                  CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

template <int BM, int STAGES> static bool launch_wide(const problem &p, cudaStream_t stream)
{
    using S = wide_shape<BM, STAGES>;
    static bool ready;
    if (!ready) {
        cudaFuncSetAttribute(wide_tiles<BM, STAGES>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::BYTES);
        ready = true;
    }
    CUtensorMap a_map, b_map;
    if (!describe(&a_map, p.a, p.m, p.k, BM) || !describe(&b_map, p.b, p.n, p.k, BK))
        return false;
    long long count = ((p.m + BM - 1LL) / BM) * ((p.n + BK - 1LL) / BK);
    long long elements = (long long)p.m * p.n;
    int depth = p.k / BK, parts = 1;
    while (partials && (parts + 1) * count <= processors && (parts + 1) * 4 <= depth &&
           (parts + 1) * elements * (long long)sizeof(float) <= PARTIAL_BYTES)
        parts++;
    int steps_part = (depth + parts - 1) / parts;
    parts = (depth + steps_part - 1) / steps_part;
    long long items = count * parts;
    unsigned blocks = (unsigned)(items < processors ? items : processors);
    wide_tiles<BM, STAGES><<<blocks, S::THREADS, S::BYTES, stream>>>(
        a_map, b_map, p, parts > 1 ? partials : nullptr, steps_part);
    if (parts > 1)
        add_parts<<<(unsigned)((elements / 4 + 255) / 256), 256, 0, stream>>>(partials, p.c, (int)elements, parts);
    return true;
}

/* Rounds of tiles, each as long as a step of such a tile takes, in parts of the largest's. */
static long long rounds(const problem &p, int rows, int step)
{
    long long blocks = ((p.m + rows - 1LL) / rows) * ((p.n + BK - 1LL) / BK);
    return (blocks + processors - 1) / processors * step;
}

static bool choose_wide(const problem &p, cudaStream_t stream)
{
    /* Large tiles do more with what they fetch; small ones leave fewer processors without work. */
    long long large = rounds(p, 256, 1024), medium = rounds(p, 128, 560), small = rounds(p, 64, 448);
    if (large <= medium && large <= small)
        return launch_wide<256, 4>(p, stream);
    return medium <= small ? launch_wide<128, 6>(p, stream) : launch_wide<64, 8>(p, stream);
}

extern "C" void matmul_fp8(const __nv_fp8_e4m3 *a, const __nv_fp8_e4m3 *b, const float *a_scale, const float *b_scale,
                           __nv_bfloat16 *c, int m, int n, int k, cudaStream_t stream)
{
    if (!processors) {
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
        if (cudaMalloc(&partials, PARTIAL_BYTES) != cudaSuccess)
            partials = nullptr;
        int major = 0;
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
        cudaDriverEntryPointQueryResult found;
        if (major != 9 || cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode, 12000,
                                                           cudaEnableDefault, &found) != cudaSuccess)
            encode = nullptr;
    }
    problem p = {(const uint8_t *)a, (const uint8_t *)b, a_scale, b_scale, c, m, n, k};
    if (m > 16 && encode && choose_wide(p, stream))
        return;
    /* Large tiles do more with what they fetch; small ones leave fewer processors without work. */
    long long large = ((m + 127LL) / 128) * (n / 128);
    if (m <= 16)
        launch<16, 128, 16, 32, 4, 3>(p, stream);
    else if (large >= processors)
        launch<128, 128, 64, 32, 5, 1>(p, stream);
    else
        launch<64, 64, 32, 32, 4, 2>(p, stream);
}
