/*
 * bf16 on the tensor cores, sums in f32.  On Hopper a warpgroup multiplies 64 rows by up to 256 columns straight from shared
 * memory, which the copy engine fills several stages ahead.  Where rows do not start on 16 bytes, which the engine asks for, where
 * there are few rows, and on other cards, a warp makes a rectangle of c with fragments loaded from tiles that asynchronous
 * copies bring.
 * Where the tiles of c are fewer than the processors can hold, the depth is split, and a second kernel adds the parts.
 */
#include <cstdint>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#define WARP 32
#define BK 64   /* depth of the tiles: rows of 128 bytes of a */
#define PIECE 8 /* elements in 16 bytes */
#define GROUP 8 /* tiles of c that share columns of b and are made at the same time */
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

/* Four 8 x 8 matrices; lane l gives the address of row l % 8 of matrix l / 8. */
__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], const bf16 *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

__device__ __forceinline__ void load_matrices_transposed(uint32_t (&r)[4], const bf16 *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/* c += a b for 16 x 16 by 16 x 8: c holds two neighbours of row l / 4 and two of the row 8 further down. */
__device__ __forceinline__ void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* --- tiles --- */

/* A tile of BM x BN by warps of WM x WN each. */
template <int BM, int BN, int WM, int WN, int STAGES> struct shape {
    static constexpr int WARPS = BM / WM * (BN / WN), THREADS = WARPS * WARP;
    static constexpr int A_ELEMENTS = BM * BK, B_ELEMENTS = BK * BN; /* of a stage */
    static constexpr int PITCH = WN + PIECE; /* of a warp's result; spreads its rows over the banks */
    static constexpr int RING = STAGES * (A_ELEMENTS + B_ELEMENTS), RESULT = WARPS * WM * PITCH;
    static constexpr int BYTES = (RING > RESULT ? RING : RESULT) * (int)sizeof(bf16);
};

/* A piece of a row-major matrix to shared memory.  VECTOR: rows start on 16 bytes. */
template <bool VECTOR>
__device__ __forceinline__ void fetch_piece(bf16 *to, const bf16 *p, int row, int col, int rows, int cols, int pitch)
{
    const bf16 *from = p + (long long)row * pitch + col;
    if constexpr (VECTOR) {
        bool inside = row < rows && col < cols;
        copy_async(to, inside ? from : p, inside);
    } else {
        __align__(16) bf16 v[PIECE];
#pragma unroll
        for (int i = 0; i < PIECE; i++)
            v[i] = row < rows && col + i < cols ? from[i] : __float2bfloat16(0);
        *(uint4 *)to = *(const uint4 *)v;
    }
}

template <int BM, int BN, int WM, int WN, int STAGES, bool VECTOR, int BLOCKS>
__global__ void __launch_bounds__(shape<BM, BN, WM, WN, STAGES>::THREADS, BLOCKS)
    tiles(const bf16 *__restrict__ a, const bf16 *__restrict__ b, bf16 *__restrict__ c, float *__restrict__ partial,
          int m, int n, int k, int k_part)
{
    using S = shape<BM, BN, WM, WN, STAGES>;
    extern __shared__ __align__(128) uint8_t memory[];
    bf16 *const a_tiles = (bf16 *)memory, *const b_tiles = a_tiles + STAGES * S::A_ELEMENTS;
    const int t = threadIdx.x, lane = t % WARP, warp = t / WARP;
    const int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;

    /* Blocks that run together make GROUP tiles down for each step to the right, so that both inputs are found in L2. */
    const int down = (m + BM - 1) / BM, across = (n + BN - 1) / BN;
    const int first = blockIdx.x / (GROUP * across) * GROUP, in_group = blockIdx.x % (GROUP * across);
    const int height = min(GROUP, down - first);
    const int row0 = (first + in_group % height) * BM, col0 = in_group / height * BN;
    const int k_begin = blockIdx.y * k_part, k_end = min(k, k_begin + k_part), steps = (k_end - k_begin + BK - 1) / BK;

    auto fetch = [&](int step) {
        bf16 *to_a = a_tiles + step % STAGES * S::A_ELEMENTS, *to_b = b_tiles + step % STAGES * S::B_ELEMENTS;
        int k0 = k_begin + step * BK;
#pragma unroll
        for (int at = t; at < BM * (BK / PIECE); at += S::THREADS) {
            int row = at / (BK / PIECE), piece = at % (BK / PIECE);
            fetch_piece<VECTOR>(to_a + row * BK + (piece ^ row % 8) * PIECE, a, row0 + row, k0 + piece * PIECE, m,
                                k_end, k);
        }
#pragma unroll
        for (int at = t; at < BK * (BN / PIECE); at += S::THREADS) {
            int row = at / (BN / PIECE), piece = at % (BN / PIECE);
            fetch_piece<VECTOR>(to_b + row * BN + (piece ^ row % 8) * PIECE, b, k0 + row, col0 + piece * PIECE, k_end,
                                n, n);
        }
    };

    float sum[WM / 16][WN / 8][4] = {};
#pragma unroll
    for (int step = 0; step < STAGES - 1; step++) {
        if (step < steps)
            fetch(step);
        commit_copies();
    }
    for (int step = 0; step < steps; step++) {
        wait_copies<STAGES - 2>();
        __syncthreads();
        if (step + STAGES - 1 < steps)
            fetch(step + STAGES - 1);
        commit_copies();
        const bf16 *as = a_tiles + step % STAGES * S::A_ELEMENTS, *bs = b_tiles + step % STAGES * S::B_ELEMENTS;
#pragma unroll
        for (int d = 0; d < BK; d += 16) {
            uint32_t x[WM / 16][4], y[WN / 16][4];
#pragma unroll
            for (int i = 0; i < WM / 16; i++) {
                int row = warp_row + i * 16 + lane % 16, piece = d / PIECE + lane / 16;
                load_matrices(x[i], as + row * BK + (piece ^ row % 8) * PIECE);
            }
#pragma unroll
            for (int j = 0; j < WN / 16; j++) {
                int row = d + lane % 16, piece = (warp_col + j * 16) / PIECE + lane / 16;
                load_matrices_transposed(y[j], bs + row * BN + (piece ^ row % 8) * PIECE);
            }
#pragma unroll
            for (int i = 0; i < WM / 16; i++)
#pragma unroll
                for (int j = 0; j < WN / 8; j++)
                    multiply_add(sum[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
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
    for (int at = lane; at < WM * (WN / PIECE); at += WARP) {
        int in_row = at / (WN / PIECE), in_col = at % (WN / PIECE) * PIECE;
        int row = row0 + warp_row + in_row, col = col0 + warp_col + in_col;
        if (row >= m)
            continue;
        const bf16 *from = result + in_row * S::PITCH + in_col;
        bf16 *to = c + (long long)row * n + col;
        if constexpr (VECTOR) {
            if (col < n)
                *(uint4 *)to = *(const uint4 *)from;
        } else {
            for (int i = 0; i < PIECE && col + i < n; i++)
                to[i] = from[i];
        }
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

/*
 * Where a matrix is in shared memory: rows of 128 bytes whose 16-byte pieces are permuted by the row's number, 8 rows in 1024
 * bytes.  When depth runs along the rows, stride is from 8 rows to the next 8.  When columns do, leading is from 64 columns to
 * the next 64, and stride from a depth of 8 to the next 8.
 */
__device__ __forceinline__ uint64_t matrix(uint32_t address, uint32_t leading, uint32_t stride)
{
    return (uint64_t)(address >> 4) | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32 | 1ull << 62;
}

#define OUT4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define OUT16(d, i) OUT4(d, i), OUT4(d, i + 4), OUT4(d, i + 8), OUT4(d, i + 12)
#define OUT64(d, i) OUT16(d, i), OUT16(d, i + 16), OUT16(d, i + 32), OUT16(d, i + 48)
#define NAMES_0_63                                                                                                     \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, "        \
    "%23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, "        \
    "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NAMES_64_127                                                                                                   \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, "        \
    "%85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, "        \
    "%105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, "     \
    "%123, %124, %125, %126, %127"

/* d = a b, or d += a b with add, for 64 x 16 by 16 x 128 or 256; depth along the rows of a, columns along those of b. */
__device__ __forceinline__ void multiply_wide(float (&d)[64], uint64_t a, uint64_t b, int add)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" NAMES_0_63 "}, %64, %65, p, 1, 1, 0, 1;\n}"
                 : OUT64(d, 0)
                 : "l"(a), "l"(b), "r"(add));
}

__device__ __forceinline__ void multiply_wide(float (&d)[128], uint64_t a, uint64_t b, int add)
{
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" NAMES_0_63 ", " NAMES_64_127
                 "}, %128, %129, p, 1, 1, 0, 1;\n}"
                 : OUT64(d, 0), OUT64(d, 64)
                 : "l"(a), "l"(b), "r"(add));
}

/* The sums are the tensor cores' until a wait says otherwise: the compiler must neither move nor copy them before. */
template <int COUNT> __device__ __forceinline__ void hold(float (&d)[COUNT])
{
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}

/* Tiles of BM x BN. */
template <int BM, int BN, int STAGES> struct wide_shape {
    static constexpr int GROUPS = BM / 64, THREADS = (GROUPS + 1) * 128; /* one group fetches */
    static constexpr int BOX = BK * 128, BOXES = BN / 64;                /* bytes of 64 columns of b, and how many make a tile */
    static constexpr int A_BYTES = BM * 128, STAGE = A_BYTES + BOXES * BOX;
    static constexpr int BYTES = STAGES * (STAGE + 16) + 1024; /* tiles start on 1024 bytes */
};

template <int BM, int BN, int STAGES>
__global__ void __launch_bounds__(wide_shape<BM, BN, STAGES>::THREADS, 1)
    wide_tiles(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map, bf16 *__restrict__ c,
               float *__restrict__ partial, int m, int n, int k, int k_part)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using S = wide_shape<BM, BN, STAGES>;
    extern __shared__ __align__(128) uint8_t memory[];
    const uint32_t tiles_at = (shared_address(memory) + 1023) / 1024 * 1024;
    const uint32_t full = tiles_at + STAGES * S::STAGE, empty = full + STAGES * 8; /* a barrier of 8 bytes a stage */
    const int role = threadIdx.x / 128, lane = threadIdx.x % WARP;

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(full + i * 8, 1);
            barrier_init(empty + i * 8, S::GROUPS * 4); /* every warp that multiplies */
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    /* What a block makes one after the other: tiles of one part of the depth, then those of the next. */
    const int down = (m + BM - 1) / BM, across = (n + BN - 1) / BN;
    const int parts = (k + k_part - 1) / k_part, items = down * across * parts;
    int row0, col0, k_begin, steps, part;
    auto find = [&](int item) {
        part = item / (down * across), item %= down * across;
        const int first = item / (GROUP * across) * GROUP, in_group = item % (GROUP * across);
        const int height = min(GROUP, down - first);
        row0 = (first + in_group % height) * BM, col0 = in_group / height * BN;
        k_begin = part * k_part, steps = (min(k, k_begin + k_part) - k_begin + BK - 1) / BK;
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
                    const uint32_t to_a = tiles_at + stage * S::STAGE, to_b = to_a + S::A_BYTES, barrier = full + stage * 8;
                    const int k0 = k_begin + step * BK;
                    barrier_wait(empty + stage * 8, phase ^ 1);
                    barrier_expect(barrier, S::STAGE);
                    fetch_box(to_a, &a_map, barrier, k0, row0);
#pragma unroll
                    for (int i = 0; i < S::BOXES; i++)
                        fetch_box(to_b + i * S::BOX, &b_map, barrier, col0 + i * 64, k0);
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(S::GROUPS == 2 ? 232 : 200));
        const int warp_row = (role - 1) * 64 + threadIdx.x / WARP % 4 * 16;
        auto release = [&](int of) {
            if (lane == 0)
                barrier_arrive(empty + of * 8);
        };
        float sum[BN / 2];
        for (int item = blockIdx.x; item < items; item += gridDim.x) {
            find(item);
            int before = 0;
            for (int step = 0; step < steps; step++, advance()) {
                const uint32_t a_at = tiles_at + stage * S::STAGE + (role - 1) * 64 * 128;
                const uint32_t b_at = tiles_at + stage * S::STAGE + S::A_BYTES;
                barrier_wait(full + stage * 8, phase);
                hold(sum);
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
                for (int d = 0; d < BK; d += 16)
                    multiply_wide(sum, matrix(a_at + d * 2, 16, 1024), matrix(b_at + d * 128, S::BOX, 1024),
                                  step + d);
                asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                hold(sum);
                /* With the products of this step on their way, those of the step before are done. */
                asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                if (step > 0)
                    release(before);
                before = stage;
            }
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
            hold(sum);
            release(before);

#pragma unroll
            for (int j = 0; j < BN / 8; j += 4)
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    const int row = row0 + warp_row + lane / 4 + half * 8;
                    const float *v = sum + j * 4 + half * 2;
                    if (parts > 1) {
                        float *to = partial + ((long long)part * m + row) * n + col0 + j * 8 + lane % 4 * 2;
#pragma unroll
                        for (int i = 0; i < 4; i++)
                            if (row < m && col0 + (j + i) * 8 < n)
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
                    const int col = col0 + (j + lane % 4) * 8;
                    if (row < m && col < n)
                        *(uint4 *)(c + (long long)row * n + col) = make_uint4(x[0], x[1], x[2], x[3]);
                }
        }
    }
#else
    __trap();
#endif
}

/* Four elements a thread; their number is a multiple of four. */
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

struct problem {
    const bf16 *a, *b;
    bf16 *c;
    int m, n, k;
    cudaStream_t stream;
};

static int processors;
static float *partials;

template <int BM, int BN, int WM, int WN, int STAGES, bool VECTOR, int BLOCKS> static void launch(const problem &p)
{
    using S = shape<BM, BN, WM, WN, STAGES>;
    static bool ready;
    if (!ready) {
        cudaFuncSetAttribute(tiles<BM, BN, WM, WN, STAGES, VECTOR, BLOCKS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             S::BYTES);
        ready = true;
    }
    long long count = ((p.m + BM - 1LL) / BM) * ((p.n + BN - 1LL) / BN), elements = (long long)p.m * p.n;
    int depth = (p.k + BK - 1) / BK, parts = 1;
    if (VECTOR && partials) {
        /* As many blocks as run at a time, each with at least four tiles to go through. */
        while ((parts + 1) * count <= (long long)processors * BLOCKS && (parts + 1) * 4 <= depth &&
               (parts + 1) * elements * (long long)sizeof(float) <= PARTIAL_BYTES)
            parts++;
    }
    int k_part = (depth + parts - 1) / parts * BK;
    parts = (p.k + k_part - 1) / k_part;
    tiles<BM, BN, WM, WN, STAGES, VECTOR, BLOCKS><<<dim3((unsigned)count, parts), S::THREADS, S::BYTES, p.stream>>>(
        p.a, p.b, p.c, parts > 1 ? partials : nullptr, p.m, p.n, p.k, k_part);
    if (parts > 1)
        add_parts<<<(unsigned)((elements / 4 + 255) / 256), 256, 0, p.stream>>>(partials, p.c, (int)elements, parts);
}

template <bool VECTOR> static void choose(const problem &p)
{
    /* Large tiles do more with what they fetch; small ones leave fewer processors without work. */
    long long large = ((p.m + 127LL) / 128) * ((p.n + 127LL) / 128);
    if (p.m <= 16)
        launch<16, 128, 16, 32, 4, VECTOR, 3>(p);
    else if (large >= processors)
        launch<128, 128, 64, 64, 3, VECTOR, 2>(p);
    else
        launch<64, 64, 32, 32, 4, VECTOR, 3>(p);
}

static decltype(&cuTensorMapEncodeTiled) encode;

/* A row-major matrix of which the copy engine takes boxes of 64 columns. */
static bool describe(CUtensorMap *map, const bf16 *p, int rows, int cols, int box_rows)
{
    cuuint64_t size[2] = {(cuuint64_t)cols, (cuuint64_t)rows}, pitch[1] = {(cuuint64_t)cols * sizeof(bf16)};
    cuuint32_t box[2] = {64, (cuuint32_t)box_rows}, step[2] = {1, 1};
    return encode(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void *)p, size, pitch, box, step,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

template <int BM, int BN, int STAGES> static bool launch_wide(const problem &p)
{
    using S = wide_shape<BM, BN, STAGES>;
    static bool ready;
    if (!ready) {
        cudaFuncSetAttribute(wide_tiles<BM, BN, STAGES>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::BYTES);
        ready = true;
    }
    CUtensorMap a_map, b_map;
    if (!describe(&a_map, p.a, p.m, p.k, BM) || !describe(&b_map, p.b, p.k, p.n, BK))
        return false;
    long long count = ((p.m + BM - 1LL) / BM) * ((p.n + BN - 1LL) / BN);
    long long elements = (long long)p.m * p.n;
    int depth = (p.k + BK - 1) / BK, parts = 1;
    while (partials && (parts + 1) * count <= processors && (parts + 1) * 8 <= depth &&
           (parts + 1) * elements * (long long)sizeof(float) <= PARTIAL_BYTES)
        parts++;
    int k_part = (depth + parts - 1) / parts * BK;
    parts = (p.k + k_part - 1) / k_part;
    long long items = count * parts;
    unsigned blocks = (unsigned)(items < processors ? items : processors);
    wide_tiles<BM, BN, STAGES><<<blocks, S::THREADS, S::BYTES, p.stream>>>(a_map, b_map, p.c, partials, p.m, p.n, p.k, k_part);
    if (parts > 1)
        add_parts<<<(unsigned)((elements / 4 + 255) / 256), 256, 0, p.stream>>>(partials, p.c, (int)elements, parts);
    return true;
}

/* Rounds of tiles, each as long as a step of such a tile takes (measured on an H200, in parts of the largest's). */
static long long rounds(const problem &p, int rows, int cols, int step)
{
    long long blocks = ((p.m + rows - 1LL) / rows) * ((p.n + cols - 1LL) / cols);
    return (blocks + processors - 1) / processors * step;
}

static bool choose_wide(const problem &p)
{
    long long large = rounds(p, 128, 256, 1024), medium = rounds(p, 128, 128, 640), small = rounds(p, 64, 128, 480);
    if (large <= medium && large <= small)
        return launch_wide<128, 256, 4>(p);
    return medium <= small ? launch_wide<128, 128, 6>(p) : launch_wide<64, 128, 8>(p);
}

extern "C" void matmul_bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *c, int m, int n, int k,
                            cudaStream_t stream)
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
    problem p = {a, b, c, m, n, k, stream};
    if (n % PIECE || k % PIECE)
        choose<false>(p);
    else if (m <= 16 || !encode || !choose_wide(p))
        choose<true>(p);
}
