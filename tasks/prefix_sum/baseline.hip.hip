/* Sums of tiles, a scan of those, and a scan of each tile from there; sums in f64, for the tolerance is that of one rounding. */
#include <hip/hip_runtime.h>

#define THREADS 256
#define EACH 16
#define TILE (THREADS * EACH)
#define MOST_TILES ((1LL << 31) / TILE)

static double *before; /* of each tile: its sum, then that of all tiles before it */

/* The sum of the threads before this one; *total: of all. */
template <class T, int N> __device__ T scan_block(T v, T *total)
{
    __shared__ T sums[N / warpSize];
    const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    T own = v;
    for (int offset = 1; offset < warpSize; offset *= 2) {
        T other = __shfl_up(v, offset);
        if (lane >= offset)
            v += other;
    }
    __syncthreads();
    if (lane == warpSize - 1)
        sums[warp] = v;
    __syncthreads();
    T earlier = 0;
    *total = 0;
    for (int i = 0; i < N / warpSize; i++) {
        if (i < warp)
            earlier += sums[i];
        *total += sums[i];
    }
    return earlier + v - own;
}

__global__ void sum_tiles(const float *input, double *to, int n)
{
    double v = 0, total;
    const long long first = (long long)blockIdx.x * TILE;
    for (int i = 0; i < EACH; i++) {
        long long at = first + i * THREADS + threadIdx.x;
        v += at < n ? input[at] : 0.0f;
    }
    scan_block<double, THREADS>(v, &total);
    if (threadIdx.x == 0)
        to[blockIdx.x] = total;
}

__global__ void scan_sums(double *sums, int tiles)
{
    double carry = 0, total;
    for (int first = 0; first < tiles; first += 1024) {
        int at = first + threadIdx.x;
        double earlier = scan_block<double, 1024>(at < tiles ? sums[at] : 0.0, &total);
        if (at < tiles)
            sums[at] = carry + earlier;
        carry += total;
    }
}

__global__ void scan_tiles(const float *input, float *output, const double *sums, int n)
{
    const long long first = (long long)blockIdx.x * TILE + (long long)threadIdx.x * EACH;
    float v[EACH], sum = 0;
    double total;
    for (int i = 0; i < EACH; i++) {
        v[i] = first + i < n ? input[first + i] : 0.0f;
        sum += v[i];
    }
    double running = sums[blockIdx.x] + scan_block<double, THREADS>(sum, &total);
    for (int i = 0; i < EACH; i++) {
        running += v[i];
        if (first + i < n)
            output[first + i] = (float)running;
    }
}

extern "C" void prefix_sum(const float *input, float *output, int n, hipStream_t stream)
{
    int tiles = (int)((n + TILE - 1LL) / TILE);
    if (!before && hipMalloc((void **)&before, MOST_TILES * sizeof *before) != hipSuccess)
        return;
    hipLaunchKernelGGL(sum_tiles, dim3(tiles), dim3(THREADS), 0, stream, input, before, n);
    hipLaunchKernelGGL(scan_sums, dim3(1), dim3(1024), 0, stream, before, tiles);
    hipLaunchKernelGGL(scan_tiles, dim3(tiles), dim3(THREADS), 0, stream, input, output, before, n);
}
