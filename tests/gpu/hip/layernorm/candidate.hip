#include <hip/hip_runtime.h>
#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

#define THREADS 256
#define LANES 32

__device__ float sum_block(cg::thread_block block, float v)
{
    __shared__ float sums[THREADS / LANES];
    cg::thread_block_tile<LANES> tile = cg::tiled_partition<LANES>(block);
    for (int offset = tile.size() / 2; offset > 0; offset /= 2)
        v += tile.shfl_xor(v, offset);
    block.sync();
    if (tile.thread_rank() == 0)
        sums[block.thread_rank() / LANES] = v;
    block.sync();
    v = 0;
    for (int i = 0; i < THREADS / LANES; i++)
        v += sums[i];
    return v;
}

__global__ void normalize(const float *x, const float *weight, const float *bias, float *y, int cols, float eps)
{
    cg::thread_block block = cg::this_thread_block();
    const float *from = x + (size_t)blockIdx.x * cols;
    float *to = y + (size_t)blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int i = block.thread_rank(); i < cols; i += THREADS)
        sum += from[i];
    const float mean = sum_block(block, sum) / cols;
    for (int i = block.thread_rank(); i < cols; i += THREADS)
        squares += (from[i] - mean) * (from[i] - mean);
    const float scale = rsqrtf(sum_block(block, squares) / cols + eps);
    for (int i = block.thread_rank(); i < cols; i += THREADS)
        to[i] = (from[i] - mean) * scale * weight[i] + bias[i];
}

extern "C" void layernorm(const float *x, const float *weight, const float *bias, float *y, int rows, int cols,
                          float eps, hipStream_t stream)
{
    hipLaunchKernelGGL(normalize, dim3(rows), dim3(THREADS), 0, stream, x, weight, bias, y, cols, eps);
}
