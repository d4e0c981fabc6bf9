/* No kernel at all: zeroes the output with a fill. */
#include <cuda_runtime.h>

extern "C" void vector_add(const float *a, const float *b, float *c, int n, cudaStream_t stream)
{
    (void)a, (void)b;
    cudaMemsetAsync(c, 0, (size_t)n * sizeof *c, stream);
}
