/* Tiles of 32 x 32 through shared memory, so that reads and writes both run along rows. */
#include <hip/hip_runtime.h>

#define TILE 32
#define LINES 8

__global__ void transpose_tiles(const float *x, float *y, int rows, int cols, int tiles_across)
{
    __shared__ float tile[TILE][TILE + 1];
    const long long row0 = (long long)(blockIdx.x / tiles_across) * TILE, col0 = (long long)(blockIdx.x % tiles_across) * TILE;
    for (int line = threadIdx.y; line < TILE; line += LINES)
        if (row0 + line < rows && col0 + threadIdx.x < cols)
            tile[line][threadIdx.x] = x[(row0 + line) * cols + col0 + threadIdx.x];
    __syncthreads();
    for (int line = threadIdx.y; line < TILE; line += LINES)
        if (col0 + line < cols && row0 + threadIdx.x < rows)
            y[(col0 + line) * rows + row0 + threadIdx.x] = tile[threadIdx.x][line];
}

extern "C" void transpose(const float *x, float *y, int rows, int cols, hipStream_t stream)
{
    int across = (cols + TILE - 1) / TILE, down = (rows + TILE - 1) / TILE;
    hipLaunchKernelGGL(transpose_tiles, dim3(across * down), dim3(TILE, LINES), 0, stream, x, y, rows, cols, across);
}
