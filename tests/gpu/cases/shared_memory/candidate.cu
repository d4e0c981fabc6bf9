#include <cuda_runtime.h>

__global__ void sum(const float *a, const float *b, float *c, int n)
{
    extern __shared__ float tile[];
    for (int k = threadIdx.x; k < 25600; k += blockDim.x) {
        int i = blockIdx.x * 25600 + k;
        tile[k] = i < n ? a[i] : 0;
    }
    __syncthreads();
    for (int k = 25599 - (int)threadIdx.x; k >= 0; k -= blockDim.x) {
        int i = blockIdx.x * 25600 + k;
        if (i < n)
            c[i] = tile[k] + b[i];
    }
}

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    static bool ready;
    if (!ready)
        cudaFuncSetAttribute(sum, cudaFuncAttributeMaxDynamicSharedMemorySize, 102400);
    ready = true;
    sum<<<(n + 25599) / 25600, 512, 102400, stream>>>(a, b, c, n);
}
