#include <cublas_v2.h>
#include <cuda_runtime.h>

extern "C" void gemm(const float *a, const float *b, float *c, int m, int n, int k, cudaStream_t stream)
{
    static cublasHandle_t handle;
    const float one = 1, zero = 0;
    if (!handle)
        cublasCreate(&handle);
    cublasSetStream(handle, stream);
    /* Column-major: the transposed product. */
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n);
}
