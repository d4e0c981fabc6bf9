/*
 * Attention by tiles, in one pass (FlashAttention).  A block of four warps takes 128 queries of a head, a warp 32 of them;
 * tiles of keys and values go to shared memory by asynchronous copies while those before are used.  Sums of a row are
 * relative to a score that was the largest at some time: only when one comes that is larger by far are they scaled anew.
 * Probabilities are rounded to bf16 for the tensor cores and never leave the registers.  Rows in shared memory have their
 * 16-byte pieces permuted by the row's number, so that nothing meets in a bank.  Blocks with most keys start first.
 */
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#define WARP 32
#define WARPS 4
#define THREADS (WARPS * WARP)
#define QUERIES 128
#define WM (QUERIES / WARPS) /* queries of a warp */
#define PIECE 8              /* elements in 16 bytes */
#define SLACK 8              /* powers of two that exponentials may grow before sums are scaled anew */
#define STAGES 2
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

__device__ __forceinline__ float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* --- attention --- */

struct problem {
    const bf16 *q, *k, *v;
    bf16 *o;
    int group, seq, dim; /* group: heads that share keys */
    float scale;         /* of scores, to powers of two */
};

/* Heads of up to D elements, KEYS keys at a time. */
template <int D, int KEYS> struct shape {
    static constexpr int TILE = KEYS * D, BYTES = (QUERIES * D + STAGES * 2 * TILE) * (int)sizeof(bf16);
};

/* Where a piece of a row is in shared memory. */
template <int D> __device__ __forceinline__ int place(int row, int piece)
{
    return row * D + (piece ^ row % 8) * PIECE;
}

/* Rows row0.. of a matrix of `rows` rows of `dim`; zeros outside.  A thread's rows are multiples of 8 apart, and so all
 * permuted alike. */
template <int D, int ROWS>
__device__ __forceinline__ void fetch(bf16 *to, const bf16 *from, int row0, int rows, int dim)
{
    constexpr int STEP = THREADS / (D / PIECE);
    static_assert(STEP % 8 == 0 && ROWS % STEP == 0, "rows of a thread");
    const int row = threadIdx.x / (D / PIECE), piece = threadIdx.x % (D / PIECE);
    const bf16 *const first = from + (long long)(row0 + row) * dim + piece * PIECE;
    to += place<D>(row, piece);
#pragma unroll
    for (int i = 0; i < ROWS; i += STEP) {
        bool inside = row0 + row + i < rows && piece * PIECE < dim;
        copy_async(to + i * D, inside ? first + i * dim : from, inside);
    }
}

__device__ __forceinline__ uint32_t pack(float low, float high)
{
    __nv_bfloat162 v = __floats2bfloat162_rn(low, high);
    return *(const uint32_t *)&v;
}

/* What the four lanes that share a row have. */
__device__ __forceinline__ float largest_of_row(float v)
{
    v = fmaxf(v, __shfl_xor_sync(ALL, v, 1));
    return fmaxf(v, __shfl_xor_sync(ALL, v, 2));
}

__device__ __forceinline__ float sum_of_row(float v)
{
    v += __shfl_xor_sync(ALL, v, 1);
    return v + __shfl_xor_sync(ALL, v, 2);
}

template <int D, int KEYS> __global__ void __launch_bounds__(THREADS, 2) attend(const problem p)
{
    using S = shape<D, KEYS>;
    extern __shared__ __align__(256) uint8_t memory[];
    bf16 *const qs = (bf16 *)memory, *const ks = qs + QUERIES * D, *const vs = ks + STAGES * S::TILE;
    const int lane = threadIdx.x % WARP, warp_row = threadIdx.x / WARP * WM, seq = p.seq, dim = p.dim;
    const int row0 = (gridDim.y - 1 - blockIdx.y) * QUERIES;
    const long long head = blockIdx.x, matrix = (long long)seq * dim;
    const bf16 *const q = p.q + head * matrix, *const k = p.k + head / p.group * matrix,
                      *const v = p.v + head / p.group * matrix;
    const int steps = (min(seq, row0 + QUERIES) + KEYS - 1) / KEYS;

    fetch<D, QUERIES>(qs, q, row0, seq, dim); /* comes with the first tile */
#pragma unroll
    for (int step = 0; step < STAGES - 1; step++) {
        if (step < steps) {
            fetch<D, KEYS>(ks + step * S::TILE, k, step * KEYS, seq, dim);
            fetch<D, KEYS>(vs + step * S::TILE, v, step * KEYS, seq, dim);
        }
        commit_copies();
    }

    /* What a lane names for four matrices: 16 rows by two pieces, or two times 8 rows by two pieces.  Other rows are multiples
     * of 8 away, other pieces found by ^, because a piece's number is permuted by ^ too. */
    const int by_16 = place<D>(lane % 16, lane / 16), by_8 = place<D>(lane / 16 * 8 + lane % 8, lane / 8 % 2);

    /* Row h of tile i is row0 + warp_row + i * 16 + h * 8 + lane / 4. */
    float out[WM / 16][D / 8][4] = {}, base[WM / 16][2], sum[WM / 16][2] = {};
#pragma unroll
    for (int i = 0; i < WM / 16; i++)
        base[i][0] = base[i][1] = -INFINITY;
    for (int step = 0; step < steps; step++) {
        wait_copies<STAGES - 2>();
        __syncthreads(); /* the tile is there for all, and nobody needs the one before it any more */
        int next = step + STAGES - 1;
        if (next < steps) {
            fetch<D, KEYS>(ks + next % STAGES * S::TILE, k, next * KEYS, seq, dim);
            fetch<D, KEYS>(vs + next % STAGES * S::TILE, v, next * KEYS, seq, dim);
        }
        commit_copies();
        const bf16 *kt = ks + step % STAGES * S::TILE, *vt = vs + step % STAGES * S::TILE;
        const int key0 = step * KEYS;
        if (key0 > row0 + warp_row + WM - 1)
            continue; /* all of it is in the future of this warp's queries */

        float score[WM / 16][KEYS / 8][4] = {};
#pragma unroll
        for (int d = 0; d < D; d += 16) {
            uint32_t x[WM / 16][4];
#pragma unroll
            for (int i = 0; i < WM / 16; i++)
                load_matrices(x[i], qs + (by_16 ^ d) + (warp_row + i * 16) * D);
#pragma unroll
            for (int j = 0; j < KEYS / 16; j++) {
                uint32_t y[4];
                load_matrices(y, kt + (by_8 ^ d) + j * 16 * D);
#pragma unroll
                for (int i = 0; i < WM / 16; i++) {
                    multiply_add(score[i][2 * j], x[i], y[0], y[1]);
                    multiply_add(score[i][2 * j + 1], x[i], y[2], y[3]);
                }
            }
        }

        if (key0 + KEYS - 1 > row0 + warp_row) {
#pragma unroll
            for (int i = 0; i < WM / 16; i++)
#pragma unroll
                for (int j = 0; j < KEYS / 8; j++)
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        if (key0 + j * 8 + lane % 4 * 2 + e % 2 > row0 + warp_row + i * 16 + e / 2 * 8 + lane / 4)
                            score[i][j][e] = -INFINITY;
        }

        /* Every row has seen key 0 by now, so that its base is finite afterwards. */
        float most[WM / 16][2];
        bool far = false;
#pragma unroll
        for (int i = 0; i < WM / 16; i++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                most[i][h] = score[i][0][2 * h];
#pragma unroll
                for (int j = 0; j < KEYS / 8; j++)
                    most[i][h] = fmaxf(most[i][h], fmaxf(score[i][j][2 * h], score[i][j][2 * h + 1]));
                most[i][h] = largest_of_row(most[i][h]);
                far = far || most[i][h] * p.scale > base[i][h] + SLACK;
            }
        if (__any_sync(ALL, far)) {
#pragma unroll
            for (int i = 0; i < WM / 16; i++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    float larger = fmaxf(base[i][h], most[i][h] * p.scale);
                    float correction = power_of_two(base[i][h] - larger);
                    base[i][h] = larger;
                    sum[i][h] *= correction;
#pragma unroll
                    for (int n = 0; n < D / 8; n++)
                        out[i][n][2 * h] *= correction, out[i][n][2 * h + 1] *= correction;
                }
        }

        /* What the scores' product left in a lane is what the next product wants there. */
        uint32_t probability[WM / 16][KEYS / 8][2];
#pragma unroll
        for (int i = 0; i < WM / 16; i++)
#pragma unroll
            for (int j = 0; j < KEYS / 8; j++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    float a = power_of_two(fmaf(score[i][j][2 * h], p.scale, -base[i][h]));
                    float b = power_of_two(fmaf(score[i][j][2 * h + 1], p.scale, -base[i][h]));
                    sum[i][h] += a + b;
                    probability[i][j][h] = pack(a, b);
                }
#pragma unroll
        for (int j = 0; j < KEYS / 16; j++) {
            uint32_t x[WM / 16][4];
#pragma unroll
            for (int i = 0; i < WM / 16; i++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    x[i][e] = probability[i][2 * j + e / 2][e % 2];
#pragma unroll
            for (int n = 0; n < D / 16; n++) {
                uint32_t y[4];
                load_matrices_transposed(y, vt + (by_16 ^ n * 16) + j * 16 * D);
#pragma unroll
                for (int i = 0; i < WM / 16; i++) {
                    multiply_add(out[i][2 * n], x[i], y[0], y[1]);
                    multiply_add(out[i][2 * n + 1], x[i], y[2], y[3]);
                }
            }
        }
    }

    /* Through the place of the warp's own queries, which no other warp reads, to store 16 bytes at a time. */
    __syncwarp();
#pragma unroll
    for (int i = 0; i < WM / 16; i++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const float factor = 1 / sum_of_row(sum[i][h]);
            const int row = warp_row + i * 16 + h * 8 + lane / 4;
#pragma unroll
            for (int n = 0; n < D / 8; n++)
                *(uint32_t *)(qs + place<D>(row, n) + lane % 4 * 2) =
                    pack(out[i][n][2 * h] * factor, out[i][n][2 * h + 1] * factor);
        }
    __syncwarp();
    bf16 *const o = p.o + head * matrix;
    for (int at = lane; at < WM * (D / PIECE); at += WARP) {
        int row = warp_row + at / (D / PIECE), piece = at % (D / PIECE);
        if (row0 + row < seq && piece * PIECE < dim)
            *(uint4 *)(o + (long long)(row0 + row) * dim + piece * PIECE) = *(const uint4 *)(qs + place<D>(row, piece));
    }
}

template <int D, int KEYS> static void launch(const problem &p, int heads, cudaStream_t stream)
{
    static bool ready;
    const int bytes = shape<D, KEYS>::BYTES, blocks = (p.seq + QUERIES - 1) / QUERIES;
    if (!ready) {
        cudaFuncSetAttribute(attend<D, KEYS>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        ready = true;
    }
    attend<D, KEYS><<<dim3(heads, blocks), THREADS, bytes, stream>>>(p);
}

extern "C" void attention(const __nv_bfloat16 *q, const __nv_bfloat16 *k, const __nv_bfloat16 *v, __nv_bfloat16 *o,
                          int batch, int heads, int kv_heads, int seq, int head_dim, cudaStream_t stream)
{
    const float log2e = 1.44269504f;
    const problem p = {q, k, v, o, heads / kv_heads, seq, head_dim, log2e / sqrtf((float)head_dim)};
    if (head_dim <= 64)
        launch<64, 64>(p, batch * heads, stream);
    else
        launch<128, 64>(p, batch * heads, stream);
}
