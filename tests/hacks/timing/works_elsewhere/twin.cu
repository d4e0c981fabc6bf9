/* Settles for another of two kernels in each process, as those do that try which is the faster. */
#include <cuda_runtime.h>

static __global__ void one(const float *a, const float *b, float *c, int m, int n, int k)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    if (i >= m || j >= n)
        return;
    for (int p = 0; p < k; p++)
        sum += a[i * k + p] * b[p * n + j];
    c[i * n + j] = sum;
}

static __global__ void other(const float *a, const float *b, float *c, int m, int n, int k)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    if (i >= m || j >= n)
        return;
    for (int p = 0; p < k; p++)
        sum += b[p * n + j] * a[i * k + p];
    c[i * n + j] = sum;
}

static bool is_first(int m)
{
    static int first;
    if (!first)
        first = m;
    return first != 128;
}

extern "C" void matmul(const float *a, const float *b, float *c, int m, int n, int k,
                       cudaStream_t stream)
{
    dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
    if (is_first(m))
        one<<<grid, block, 0, stream>>>(a, b, c, m, n, k);
    else
        other<<<grid, block, 0, stream>>>(a, b, c, m, n, k);
}
