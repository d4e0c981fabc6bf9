/* Transposes the second matrix in every call. */
#include "../../../attacks/honest.h"

static const char source[] =
    "kernel void transpose(global const float *b, global float *t)\n"
    "{\n"
    "    size_t j = get_global_id(0), p = get_global_id(1), n = get_global_size(0), k = "
    "get_global_size(1);\n"
    "    t[j * k + p] = b[p * n + j];\n"
    "}\n"
    "kernel void multiply(global const float *a, global const float *t, global float *c, int k)\n"
    "{\n"
    "    size_t j = get_global_id(0), i = get_global_id(1), n = get_global_size(0);\n"
    "    float sum = 0;\n"
    "    for (int p = 0; p < k; p++)\n"
    "        sum += a[i * k + p] * t[j * k + p];\n"
    "    c[i * n + j] = sum;\n"
    "}\n";

void matmul(cl_mem a, cl_mem b, cl_mem c, int m, int n, int k, cl_command_queue queue)
{
    static cl_kernel transpose, multiply;
    static cl_mem t;
    static int t_n, t_k;
    size_t global[2] = {(size_t)n, (size_t)m}, turned[2] = {(size_t)n, (size_t)k};
    if (!multiply) {
        transpose = make_kernel(queue, source, "", "transpose");
        multiply = make_kernel(queue, source, "", "multiply");
    }
    if (t_n != n || t_k != k) {
        t = clCreateBuffer(context_of(queue), CL_MEM_READ_WRITE,
                           turned[0] * turned[1] * sizeof(float), NULL, NULL);
        t_n = n;
        t_k = k;
    }
    clSetKernelArg(transpose, 0, sizeof b, &b);
    clSetKernelArg(transpose, 1, sizeof t, &t);
    clEnqueueNDRangeKernel(queue, transpose, 2, NULL, turned, NULL, 0, NULL, NULL);
    clSetKernelArg(multiply, 0, sizeof a, &a);
    clSetKernelArg(multiply, 1, sizeof t, &t);
    clSetKernelArg(multiply, 2, sizeof c, &c);
    clSetKernelArg(multiply, 3, sizeof k, &k);
    clEnqueueNDRangeKernel(queue, multiply, 2, NULL, global, NULL, 0, NULL, NULL);
}
