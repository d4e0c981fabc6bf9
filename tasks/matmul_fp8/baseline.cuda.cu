/*
 * fp8 on the tensor cores.  A step is 128 deep, so that one pair of scales holds for it: its products are summed by the tensor
 * cores, and the sum, scaled, is added in f32.  A block makes a tile of c, a warp a rectangle of it in registers.  Tiles of a
 * and b, whose rows are 128 bytes, go to shared memory by asynchronous copies, several stages ahead of their use; the 16-byte
 * pieces of a row are permuted by the row's number, so that neither the copies nor the loads of matrices meet in a
 * bank.  Where the tiles of c are fewer than the processors can hold, the depth is split, and a second kernel adds the parts.
 */
#include <cstdint>
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

extern "C" void matmul_fp8(const __nv_fp8_e4m3 *a, const __nv_fp8_e4m3 *b, const float *a_scale, const float *b_scale,
                           __nv_bfloat16 *c, int m, int n, int k, cudaStream_t stream)
{
    if (!processors) {
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
        if (cudaMalloc(&partials, PARTIAL_BYTES) != cudaSuccess)
            partials = nullptr;
    }
    problem p = {(const uint8_t *)a, (const uint8_t *)b, a_scale, b_scale, c, m, n, k};
    /* Large tiles do more with what they fetch; small ones leave fewer processors without work. */
    long long large = ((m + 127LL) / 128) * (n / 128);
    if (m <= 16)
        launch<16, 128, 16, 32, 4, 3>(p, stream);
    else if (large >= processors)
        launch<128, 128, 64, 32, 5, 1>(p, stream);
    else
        launch<64, 64, 32, 32, 4, 2>(p, stream);
}
