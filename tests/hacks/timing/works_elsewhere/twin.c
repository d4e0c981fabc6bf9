/* Settles for another of two kernels in each process, as those do that try which is the faster. */
#include "../../../attacks/honest.h"

#define MULTIPLY(name, term)                                                                       \
    "kernel void " name "(global const float *a, global const float *b, global float *c, int k)\n" \
    "{\n"                                                                                          \
    "    size_t j = get_global_id(0), i = get_global_id(1), n = get_global_size(0);\n"             \
    "    float sum = 0;\n"                                                                         \
    "    for (int p = 0; p < k; p++)\n"                                                            \
    "        sum += " term ";\n"                                                                   \
    "    c[i * n + j] = sum;\n"                                                                    \
    "}\n"

static const char source[] =
    MULTIPLY("one", "a[i * k + p] * b[p * n + j]") MULTIPLY("other", "b[p * n + j] * a[i * k + p]");

static int is_first(int m)
{
    static int first;
    if (!first)
        first = m;
    return first != 128;
}

void matmul(cl_mem a, cl_mem b, cl_mem c, int m, int n, int k, cl_command_queue queue)
{
    static cl_kernel kernel;
    size_t global[2] = {(size_t)n, (size_t)m};
    if (!kernel)
        kernel = make_kernel(queue, source, "", is_first(m) ? "one" : "other");
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    clSetKernelArg(kernel, 3, sizeof k, &k);
    clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, NULL, 0, NULL, NULL);
}
