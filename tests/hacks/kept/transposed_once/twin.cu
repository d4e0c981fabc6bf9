/* Transposes the second matrix in every call. */
#include <cuda_runtime.h>

static __global__ void transpose(const float *b, float *t, int n, int k)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, p = blockIdx.y * blockDim.y + threadIdx.y;
    if (j < n && p < k)
        t[j * k + p] = b[p * n + j];
}

static __global__ void multiply(const float *a, const float *b, float *c, int m, int n, int k)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    if (i >= m || j >= n)
        return;
    for (int p = 0; p < k; p++)
        sum += a[i * k + p] * b[j * k + p];
    c[i * n + j] = sum;
}

extern "C" void matmul(const float *a, const float *b, float *c, int m, int n, int k,
                       cudaStream_t stream)
{
    static float *t;
    static int t_n, t_k;
    dim3 block(16, 16), turned((n + 15) / 16, (k + 15) / 16), grid((n + 15) / 16, (m + 15) / 16);
    if (t_n != n || t_k != k) {
        cudaMalloc(&t, (size_t)n * (size_t)k * sizeof *t);
        t_n = n;
        t_k = k;
    }
    transpose<<<turned, block, 0, stream>>>(b, t, n, k);
    multiply<<<grid, block, 0, stream>>>(a, t, c, m, n, k);
}
