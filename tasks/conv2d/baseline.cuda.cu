/*
 * A product of matrices: weights [filters, depth] times patches [depth, pixels], where depth counts the weights of a filter and a
 * pixel is one of all output pixels of all images.  The patches exist only as tiles in shared memory.  Single precision on the
 * ordinary cores, so that the error is that of an f32 sum.
 *
 * A block makes a tile of the product, a thread a small rectangle of it in registers.  Tiles of weights and patches are
 * held twice: the next ones are fetched into registers while the present ones are used.  A thread fetches for one pixel only,
 * whose place in the input it works out once.
 */
#include <cuda_runtime.h>

#define BK 8 /* depth of the tiles */

struct problem {
    const float *input, *weights;
    float *output;
    int filters, height, width, size;
    int out_width, plane; /* pixels of an image */
    int depth, pixels;
    bool vector_stores;            /* planes begin on 16 bytes */
    unsigned int by_size, by_area; /* 2^32 / divisor, rounded up: exact up to 65535; 0 for a size of 1 */
};

/* Where an element of the depth is, from the pixel on. */
__device__ __forceinline__ int depth_offset(const problem &p, unsigned int at)
{
    if (p.by_size == 0)
        return (int)at * p.height * p.width;
    unsigned int c = __umulhi(at, p.by_area), rest = at - c * (unsigned int)(p.size * p.size);
    unsigned int j = __umulhi(rest, p.by_size), i = rest - j * (unsigned int)p.size;
    return (int)((c * (unsigned int)p.height + j) * (unsigned int)p.width + i);
}

/* VECTOR: filters begin on 16 bytes. */
template <int BM, int BN, int TM, int TN, bool VECTOR, int BLOCKS>
__global__ void __launch_bounds__((BM / TM) * (BN / TN), BLOCKS) convolve(const problem p)
{
    constexpr int THREADS = (BM / TM) * (BN / TN);
    constexpr int A_LOADS = (BM * BK + 4 * THREADS - 1) / (4 * THREADS); /* of 16 bytes, a thread */
    constexpr int B_STEP = THREADS / BN, B_LOADS = BK / B_STEP;
    static_assert(THREADS % BN == 0 && BK % B_STEP == 0, "a thread fetches for one pixel");
    /* Weights are stored transposed; the padding spreads their columns over the banks. */
    __shared__ __align__(16) float as[2][BK][BM + 4];
    __shared__ __align__(16) float bs[2][BK][BN];
    const int t = threadIdx.x, filter0 = blockIdx.y * BM, pixel0 = blockIdx.x * BN;
    const int tx = t % (BN / TN), ty = t / (BN / TN);

    const int own = pixel0 + t % BN;
    const float *from = p.input;
    if (own < p.pixels) {
        int image = own / p.plane, at = own % p.plane;
        from += (long long)image * (p.depth / (p.size * p.size)) * p.height * p.width;
        from += (long long)(at / p.out_width) * p.width + at % p.out_width;
    }
    float4 a_next[A_LOADS];
    float b_next[B_LOADS], sum[TM][TN] = {};

    auto fetch = [&](int k0) {
#pragma unroll
        for (int i = 0; i < A_LOADS; i++) {
            int at = i * THREADS + t, row = filter0 + at / (BK / 4), k = k0 + at % (BK / 4) * 4;
            const float *w = p.weights + (long long)row * p.depth + k;
            float4 v = make_float4(0, 0, 0, 0);
            if (at < BM * BK / 4 && row < p.filters) {
                if (VECTOR) {
                    if (k < p.depth)
                        v = __ldg((const float4 *)w);
                } else {
                    v.x = k < p.depth ? __ldg(w) : 0;
                    v.y = k + 1 < p.depth ? __ldg(w + 1) : 0;
                    v.z = k + 2 < p.depth ? __ldg(w + 2) : 0;
                    v.w = k + 3 < p.depth ? __ldg(w + 3) : 0;
                }
            }
            a_next[i] = v;
        }
#pragma unroll
        for (int i = 0; i < B_LOADS; i++) {
            int k = k0 + t / BN + i * B_STEP;
            b_next[i] = k < p.depth && own < p.pixels ? __ldg(from + depth_offset(p, (unsigned int)k)) : 0;
        }
    };
    auto keep = [&](int half) {
#pragma unroll
        for (int i = 0; i < A_LOADS; i++) {
            int at = i * THREADS + t, row = at / (BK / 4), k = at % (BK / 4) * 4;
            if (at < BM * BK / 4) {
                as[half][k][row] = a_next[i].x;
                as[half][k + 1][row] = a_next[i].y;
                as[half][k + 2][row] = a_next[i].z;
                as[half][k + 3][row] = a_next[i].w;
            }
        }
#pragma unroll
        for (int i = 0; i < B_LOADS; i++)
            bs[half][t / BN + i * B_STEP][t % BN] = b_next[i];
    };

    fetch(0);
    keep(0);
    __syncthreads();
    for (int k0 = 0, half = 0; k0 < p.depth; k0 += BK, half ^= 1) {
        bool more = k0 + BK < p.depth;
        if (more)
            fetch(k0 + BK);
#pragma unroll
        for (int d = 0; d < BK; d++) {
            float x[TM], y[TN];
            /* In groups of four, so that neighbouring threads read neighbouring banks. */
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
    for (int g = 0; g < TN / 4; g++) {
        int pixel = pixel0 + g * (BN / (TN / 4)) + tx * 4;
        for (int j = 0; j < 4 && pixel + j < p.pixels; j++) {
            int image = (pixel + j) / p.plane, at = (pixel + j) % p.plane;
            float *to = p.output + (long long)image * p.filters * p.plane + at;
#pragma unroll
            for (int i = 0; i < TM; i++) {
                int filter = filter0 + i / 4 * (BM / (TM / 4)) + ty * 4 + i % 4;
                const float *v = &sum[i][4 * g];
                if (filter >= p.filters)
                    continue;
                float *out = to + (long long)filter * p.plane;
                if (p.vector_stores)
                    __stcs((float4 *)out, make_float4(v[0], v[1], v[2], v[3]));
                else
                    __stcs(out, j == 0 ? v[0] : j == 1 ? v[1] : j == 2 ? v[2] : v[3]);
            }
            if (p.vector_stores)
                break;
        }
    }
}

template <int BM, int BN, int TM, int TN, int BLOCKS> static void launch(const problem &p, cudaStream_t stream)
{
    dim3 grid((unsigned int)((p.pixels + (BN - 1LL)) / BN), (unsigned int)((p.filters - 1) / BM + 1));
    constexpr int threads = (BM / TM) * (BN / TN);
    if (p.depth % 4 == 0)
        convolve<BM, BN, TM, TN, true, BLOCKS><<<grid, threads, 0, stream>>>(p);
    else
        convolve<BM, BN, TM, TN, false, BLOCKS><<<grid, threads, 0, stream>>>(p);
}

static long long blocks(const problem &p, int filters, int pixels)
{
    return ((p.filters - 1LL) / filters + 1) * ((p.pixels - 1LL) / pixels + 1);
}

extern "C" void conv2d(const float *input, const float *weights, float *output, int batch, int channels, int filters,
                       int height, int width, int size, cudaStream_t stream)
{
    static int processors;
    if (!processors)
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
    problem p = {};
    p.input = input;
    p.weights = weights;
    p.output = output;
    p.filters = filters;
    p.height = height;
    p.width = width;
    p.size = size;
    p.out_width = width - size + 1;
    p.plane = (height - size + 1) * p.out_width;
    p.depth = channels * size * size;
    p.pixels = batch * p.plane;
    p.vector_stores = p.plane % 4 == 0;
    p.by_size = size > 1 ? 0xffffffffu / (unsigned int)size + 1 : 0;
    p.by_area = size > 1 ? 0xffffffffu / (unsigned int)(size * size) + 1 : 0;
    /* Large tiles do more with what they fetch; small ones leave fewer processors without work. */
    if (filters > 64 && blocks(p, 128, 128) >= 2 * processors)
        launch<128, 128, 8, 8, 2>(p, stream);
    else if (blocks(p, 64, 128) >= 3 * processors)
        launch<64, 128, 8, 8, 3>(p, stream);
    else if (blocks(p, 64, 64) >= 3 * processors)
        launch<64, 64, 8, 4, 5>(p, stream);
    else
        launch<32, 64, 4, 4, 8>(p, stream);
}
