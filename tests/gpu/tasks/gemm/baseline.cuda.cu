/*
 * Single precision on the ordinary cores, so that the error is that of an f32 sum.  A block makes a tile of c, a
 * thread a small square of it in registers.  Tiles of a and b are in shared memory, twice: the next ones are fetched
 * into registers while the present ones are used, and stored into the other half.
 */
#include <cuda_runtime.h>

#define BK 16 /* depth of the tiles */

/* A tile of BM x BN, with (BM / TM) * (BN / TN) threads; TM and TN are 4 or 8.  VECTOR: rows of a and b start on 16 bytes. */
template <int BM, int BN, int TM, int TN> struct shape {
    static constexpr int THREADS = (BM / TM) * (BN / TN);
    static constexpr int A_LOADS = BM * BK / 4 / THREADS, B_LOADS = BN * BK / 4 / THREADS; /* of 16 bytes, a thread */
};

/* Four neighbours of a row-major matrix; zeros outside. */
template <bool VECTOR> __device__ __forceinline__ float4 load4(const float *p, int row, int col, int rows, int cols)
{
    float4 v = make_float4(0, 0, 0, 0);
    if (row >= rows)
        return v;
    p += (long long)row * cols + col;
    if (VECTOR)
        return col < cols ? __ldg((const float4 *)p) : v;
    if (col < cols)
        v.x = __ldg(p);
    if (col + 1 < cols)
        v.y = __ldg(p + 1);
    if (col + 2 < cols)
        v.z = __ldg(p + 2);
    if (col + 3 < cols)
        v.w = __ldg(p + 3);
    return v;
}

template <bool VECTOR>
__device__ __forceinline__ void store4(float *p, int row, int col, int rows, int cols, const float *v)
{
    if (row >= rows)
        return;
    p += (long long)row * cols + col;
    if (VECTOR) {
        if (col < cols)
            *(float4 *)p = make_float4(v[0], v[1], v[2], v[3]);
        return;
    }
    for (int i = 0; i < 4; i++)
        if (col + i < cols)
            p[i] = v[i];
}

template <int BM, int BN, int TM, int TN, bool VECTOR, int BLOCKS>
__global__ void __launch_bounds__(shape<BM, BN, TM, TN>::THREADS, BLOCKS)
    tiles(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int m, int n, int k)
{
    using S = shape<BM, BN, TM, TN>;
    /* a is stored transposed; the padding spreads its columns over the banks. */
    __shared__ __align__(16) float as[2][BK][BM + 4];
    __shared__ __align__(16) float bs[2][BK][BN];
    const int t = threadIdx.x, row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int tx = t % (BN / TN), ty = t / (BN / TN);
    float4 a_next[S::A_LOADS], b_next[S::B_LOADS];
    float sum[TM][TN] = {};

    auto fetch = [&](int k0) {
#pragma unroll
        for (int i = 0; i < S::A_LOADS; i++) {
            int at = i * S::THREADS + t;
            a_next[i] = load4<VECTOR>(a, row0 + at / (BK / 4), k0 + at % (BK / 4) * 4, m, k);
        }
#pragma unroll
        for (int i = 0; i < S::B_LOADS; i++) {
            int at = i * S::THREADS + t;
            b_next[i] = load4<VECTOR>(b, k0 + at / (BN / 4), col0 + at % (BN / 4) * 4, k, n);
        }
    };
    auto keep = [&](int half) {
#pragma unroll
        for (int i = 0; i < S::A_LOADS; i++) {
            int at = i * S::THREADS + t, row = at / (BK / 4), depth = at % (BK / 4) * 4;
            as[half][depth][row] = a_next[i].x;
            as[half][depth + 1][row] = a_next[i].y;
            as[half][depth + 2][row] = a_next[i].z;
            as[half][depth + 3][row] = a_next[i].w;
        }
#pragma unroll
        for (int i = 0; i < S::B_LOADS; i++) {
            int at = i * S::THREADS + t;
            *(float4 *)&bs[half][at / (BN / 4)][at % (BN / 4) * 4] = b_next[i];
        }
    };

    fetch(0);
    keep(0);
    __syncthreads();
    for (int k0 = 0, half = 0; k0 < k; k0 += BK, half ^= 1) {
        bool more = k0 + BK < k;
        if (more)
            fetch(k0 + BK);
#pragma unroll
        for (int d = 0; d < BK; d++) {
            float x[TM], y[TN];
            /* In groups of four, BM / (TM / 4) apart: neighbouring threads read neighbouring banks. */
#pragma unroll
            for (int g = 0; g < TM / 4; g++)
                *(float4 *)&x[4 * g] = *(const float4 *)&as[half][d][g * (BM / (TM / 4)) + ty * 4];
#pragma unroll
            for (int g = 0; g < TN / 4; g++)
                *(float4 *)&y[4 * g] = *(const float4 *)&bs[half][d][g * (BN / (TN / 4)) + tx * 4];
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++)
                    sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
        }
        if (more)
            keep(half ^ 1);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int g = 0; g < TN / 4; g++)
            store4<VECTOR>(c, row0 + i / 4 * (BM / (TM / 4)) + ty * 4 + i % 4,
                           col0 + g * (BN / (TN / 4)) + tx * 4, m, n, &sum[i][4 * g]);
}

template <int BM, int BN, int TM, int TN, int BLOCKS>
static void launch(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream)
{
    dim3 grid((n + BN - 1) / BN, (m + BM - 1) / BM);
    constexpr int threads = shape<BM, BN, TM, TN>::THREADS;
    if (n % 4 == 0 && k % 4 == 0)
        tiles<BM, BN, TM, TN, true, BLOCKS><<<grid, threads, 0, stream>>>(a, b, c, m, n, k);
    else
        tiles<BM, BN, TM, TN, false, BLOCKS><<<grid, threads, 0, stream>>>(a, b, c, m, n, k);
}

extern "C" void gemm(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream)
{
    static int processors;
    if (!processors)
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    /* Large tiles do more with what they fetch; small ones leave fewer processors without work. */
    long long large = ((m + 127LL) / 128) * ((n + 127LL) / 128);
    if (large >= processors)
        launch<128, 128, 8, 8, 2>(a, b, c, m, n, k, stream);
    else
        launch<64, 64, 8, 4, 4>(a, b, c, m, n, k, stream);
}
