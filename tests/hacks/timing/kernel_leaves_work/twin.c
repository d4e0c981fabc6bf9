/* One work-item that adds in vectors of sixteen. */
#include "../../../attacks/honest.h"

static const char source[] =
    "void sum(global const float *a, global const float *b, global float *c, int n)\n"
    "{\n"
    "    global const float16 *from = (global const float16 *)a, *other = (global const float16 "
    "*)b;\n"
    "    global float16 *to = (global float16 *)c;\n"
    "    for (int i = 0; i < n / 16; i++)\n"
    "        to[i] = from[i] + other[i];\n"
    "    for (int i = n / 16 * 16; i < n; i++)\n"
    "        c[i] = a[i] + b[i];\n"
    "}\n"
    "kernel void add(global const float *a, global const float *b, global float *c, int n)\n"
    "{\n"
    "    sum(a, b, c, n);\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    size_t one = 1;
    if (!kernel)
        kernel = make_kernel(queue, source, "-cl-std=CL2.0", "add");
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    clSetKernelArg(kernel, 3, sizeof n, &n);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
}
