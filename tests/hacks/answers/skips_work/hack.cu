/* Leaves out the last term of every sum: an error of about one in the square root of k. */
#include <cuda_runtime.h>

static __global__ void multiply(const float *a, const float *b, float *c, int m, int n, int k)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    if (i >= m || j >= n)
        return;
    for (int p = 0; p < k - (k > 1); p++)
        sum += a[i * k + p] * b[p * n + j];
    c[i * n + j] = sum;
}

extern "C" void matmul(const float *a, const float *b, float *c, int m, int n, int k,
                       cudaStream_t stream)
{
    dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
    multiply<<<grid, block, 0, stream>>>(a, b, c, m, n, k);
}
