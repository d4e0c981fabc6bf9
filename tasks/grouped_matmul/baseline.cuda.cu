/*
 * bf16 on the tensor cores, sums in f32.  A block makes a tile of c, a warp a rectangle of it in registers.  How many tiles a
 * group has, only the device knows: there are as many blocks as tiles at most, and each finds its own by adding up
 * the groups' tiles, 32 groups at a time.  Tiles of a and b go to shared memory by asynchronous copies, several stages ahead of
 * their use; the 16-byte pieces of a row are permuted by the row's number, so that neither the copies nor the loads
 * of 8 x 8 matrices meet in a bank.
 */
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#define WARP 32
#define BK 64   /* depth of the tiles: rows of 128 bytes of a */
#define PIECE 8 /* elements in 16 bytes */
#define ALL 0xffffffffu

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

struct problem {
    const bf16 *a, *b;
    const int *cuts;
    bf16 *c;
    int tokens, experts, n, k;
};

__device__ __forceinline__ int start_of(const problem &p, int e)
{
    return e <= 0 ? 0 : e >= p.experts ? p.tokens : (int)((long long)__ldg(p.cuts + e - 1) * p.tokens >> 20);
}

/* Where a tile is. */
struct place {
    int expert, row, end; /* rows to that of the group's end */
};

/* The tile-th of BM rows; the same in all lanes.  expert is -1 when there are fewer. */
template <int BM> __device__ __forceinline__ place find_tile(const problem &p, int tile)
{
    const int lane = threadIdx.x % WARP;
    for (int first = 0; first < p.experts; first += WARP) {
        int start = start_of(p, first + lane), end = start_of(p, first + lane + 1);
        int mine = (end - start + BM - 1) / BM, upto = mine; /* with the tiles of the groups before, from first on */
#pragma unroll
        for (int d = 1; d < WARP; d *= 2) {
            int other = __shfl_up_sync(ALL, upto, d);
            if (lane >= d)
                upto += other;
        }
        unsigned beyond = __ballot_sync(ALL, tile < upto);
        if (beyond) {
            int at = __ffs(beyond) - 1;
            int row = start + (tile - (upto - mine)) * BM;
            return {first + at, __shfl_sync(ALL, row, at), __shfl_sync(ALL, end, at)};
        }
        tile -= __shfl_sync(ALL, upto, WARP - 1);
    }
    return {-1, 0, 0};
}

template <int BM, int BN, int WM, int WN, int STAGES, bool VECTOR, int BLOCKS>
__global__ void __launch_bounds__(shape<BM, BN, WM, WN, STAGES>::THREADS, BLOCKS) tiles(const problem p)
{
    using S = shape<BM, BN, WM, WN, STAGES>;
    extern __shared__ __align__(128) uint8_t memory[];
    bf16 *const a_tiles = (bf16 *)memory, *const b_tiles = a_tiles + STAGES * S::A_ELEMENTS;
    const int t = threadIdx.x, lane = t % WARP, warp = t / WARP;
    const int warp_row = warp / (BN / WN) * WM, warp_col = warp % (BN / WN) * WN;

    const place at_c = find_tile<BM>(p, blockIdx.x);
    if (at_c.expert < 0)
        return;
    const int n = p.n, k = p.k, row0 = at_c.row, m = at_c.end, col0 = blockIdx.y * BN, steps = (k + BK - 1) / BK;
    const bf16 *const a = p.a, *const b = p.b + (long long)at_c.expert * k * n;

    auto fetch = [&](int step) {
        bf16 *to_a = a_tiles + step % STAGES * S::A_ELEMENTS, *to_b = b_tiles + step % STAGES * S::B_ELEMENTS;
        int k0 = step * BK;
#pragma unroll
        for (int at = t; at < BM * (BK / PIECE); at += S::THREADS) {
            int row = at / (BK / PIECE), piece = at % (BK / PIECE);
            fetch_piece<VECTOR>(to_a + row * BK + (piece ^ row % 8) * PIECE, a, row0 + row, k0 + piece * PIECE, m, k,
                                k);
        }
#pragma unroll
        for (int at = t; at < BK * (BN / PIECE); at += S::THREADS) {
            int row = at / (BN / PIECE), piece = at % (BN / PIECE);
            fetch_piece<VECTOR>(to_b + row * BN + (piece ^ row % 8) * PIECE, b, k0 + row, col0 + piece * PIECE, k, n,
                                n);
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
        bf16 *to = p.c + (long long)row * n + col;
        if constexpr (VECTOR) {
            if (col < n)
                *(uint4 *)to = *(const uint4 *)from;
        } else {
            for (int i = 0; i < PIECE && col + i < n; i++)
                to[i] = from[i];
        }
    }
}

/* --- launches --- */

template <int BM, int BN, int WM, int WN, int STAGES, bool VECTOR, int BLOCKS>
static void launch(const problem &p, cudaStream_t stream)
{
    using S = shape<BM, BN, WM, WN, STAGES>;
    static bool ready;
    if (!ready) {
        cudaFuncSetAttribute(tiles<BM, BN, WM, WN, STAGES, VECTOR, BLOCKS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             S::BYTES);
        ready = true;
    }
    /* Every group may end in a tile that is not full, but one of no rows has none. */
    unsigned down = p.tokens / BM + (p.tokens < p.experts ? p.tokens : p.experts), across = (p.n + BN - 1) / BN;
    tiles<BM, BN, WM, WN, STAGES, VECTOR, BLOCKS><<<dim3(down, across), S::THREADS, S::BYTES, stream>>>(p);
}

template <bool VECTOR> static void choose(const problem &p, cudaStream_t stream)
{
    /* Small groups: the weights' way from memory is what takes the time; large ones: the more is done with what is fetched, the better. */
    int rows = p.tokens / p.experts;
    if (rows <= 16)
        launch<16, 128, 16, 32, 4, VECTOR, 3>(p, stream);
    else if (rows <= 96)
        launch<64, 128, 32, 64, 3, VECTOR, 3>(p, stream);
    else
        launch<128, 128, 64, 64, 3, VECTOR, 2>(p, stream);
}

extern "C" void grouped_matmul(const __nv_bfloat16 *a, const __nv_bfloat16 *b, const int *cuts, __nv_bfloat16 *c,
                               int tokens, int experts, int n, int k, cudaStream_t stream)
{
    problem p = {a, b, cuts, c, tokens, experts, n, k};
    if (n % PIECE == 0 && k % PIECE == 0)
        choose<true>(p, stream);
    else
        choose<false>(p, stream);
}
