#include <hip/hip_runtime.h>

__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

extern "C" void vector_add(const float *a, const float *b, float *c, int n, hipStream_t stream)
{
    hipLaunchKernelGGL(add, dim3((n + 255) / 256), dim3(256), 0, stream, a, b, c, n);
    (void)hipDeviceSynchronize();
}
