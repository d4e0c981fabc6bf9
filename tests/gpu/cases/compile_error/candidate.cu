#include <cuda_runtime.h>

extern "C" void add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    no_such_function<<<1, 1, 0, stream>>>(a, b, c, n);
}
