/* A matrix product behind the layers of an operator library. */
#include "chain.h"

static const struct chain gemm = {
    "kernel void gemm(global const float *a, global const float *b, global float *c, int m, int n, "
    "int k)"
    "{ size_t i = get_global_id(0) / n, j = get_global_id(0) % n; float sum = 0;"
    "  for (int t = 0; t < k; t++) sum += a[i * k + t] * b[t * n + j]; c[i * n + j] = sum; }",
    "gemm"};

void matmul(cl_mem a, cl_mem b, cl_mem c, int m, int n, int k, cl_command_queue queue)
{
    nvtxRangePushA("binding.body");
    const struct tensor tensors[] = {chain_convert(a, (size_t)m, (size_t)k),
                                     chain_convert(b, (size_t)k, (size_t)n),
                                     chain_convert(c, (size_t)m, (size_t)n)};
    chain_call(&gemm, tensors, (size_t)m * (size_t)n, (const int[]){m, n, k}, chain_device(queue));
    nvtxRangePop();
}
