/* Bound by memory alone: 16 bytes per load and store, every thread one of each. */
#include <hip/hip_runtime.h>

#define THREADS 256

__global__ void __launch_bounds__(THREADS) add(const float *__restrict__ a, const float *__restrict__ b,
                                               float *__restrict__ c, int n)
{
    long long i = 4 * ((long long)blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n) {
        *(float4 *)(c + i) = *(const float4 *)(a + i) + *(const float4 *)(b + i);
    } else {
        for (; i < n; i++)
            c[i] = a[i] + b[i];
    }
}

extern "C" void vector_add(const float *a, const float *b, float *c, int n, hipStream_t stream)
{
    int blocks = (int)((n + 4LL * THREADS - 1) / (4LL * THREADS));
    hipLaunchKernelGGL(add, dim3(blocks), dim3(THREADS), 0, stream, a, b, c, n);
}
