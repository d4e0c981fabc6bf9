/* Tiles of 64 x 64 through shared memory, 4 x 4 sums in the registers of a thread. */
#include <hip/hip_runtime.h>

#define TILE 64
#define DEPTH 16
#define SIDE 16 /* threads; each has 4 x 4 sums */

__global__ void __launch_bounds__(SIDE *SIDE) multiply(const float *a, const float *b, float *c, int m, int n, int k, int across)
{
    __shared__ float rows[DEPTH][TILE + 1], columns[DEPTH][TILE];
    const int row0 = blockIdx.x / across * TILE, col0 = blockIdx.x % across * TILE;
    const int thread = threadIdx.y * SIDE + threadIdx.x;
    float sums[4][4] = {};
    for (int depth = 0; depth < k; depth += DEPTH) {
        for (int i = thread; i < TILE * DEPTH; i += SIDE * SIDE) {
            int row = row0 + i / DEPTH, at = depth + i % DEPTH;
            rows[i % DEPTH][i / DEPTH] = row < m && at < k ? a[(size_t)row * k + at] : 0.0f;
            int col = col0 + i % TILE;
            at = depth + i / TILE;
            columns[i / TILE][i % TILE] = col < n && at < k ? b[(size_t)at * n + col] : 0.0f;
        }
        __syncthreads();
        for (int d = 0; d < DEPTH; d++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sums[i][j] += rows[d][threadIdx.y + i * SIDE] * columns[d][threadIdx.x + j * SIDE];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            int row = row0 + threadIdx.y + i * SIDE, col = col0 + threadIdx.x + j * SIDE;
            if (row < m && col < n)
                c[(size_t)row * n + col] = sums[i][j];
        }
}

extern "C" void matmul(const float *a, const float *b, float *c, int m, int n, int k, hipStream_t stream)
{
    int across = (n + TILE - 1) / TILE, down = (m + TILE - 1) / TILE;
    hipLaunchKernelGGL(multiply, dim3(across * down), dim3(SIDE, SIDE), 0, stream, a, b, c, m, n, k, across);
}
