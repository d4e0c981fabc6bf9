#include <hip/hip_runtime.h>

#define WAVE 64

__global__ void sum_all(const float *x, float *sum, int n)
{
    double v = 0;
    for (int i = threadIdx.x; i < n; i += WAVE)
        v += x[i];
    for (int offset = WAVE / 2; offset > 0; offset >>= 1)
        v += __shfl_down(v, offset, WAVE);
    if (threadIdx.x == 0)
        *sum = (float)v;
}

extern "C" void reduction(const float *x, float *sum, int n, hipStream_t stream)
{
    hipLaunchKernelGGL(sum_all, dim3(1), dim3(WAVE), 0, stream, x, sum, n);
}
