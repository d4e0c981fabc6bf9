/* Launches with a work-group that no device takes, and ignores the error. */
#include "../../../attacks/honest.h"

static const char source[] =
    "kernel void add(global const float *a, global const float *b, global float *c, int n)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    if (i < n)\n"
    "        c[i] = a[i] + b[i];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    size_t group = (size_t)1 << 20, global = ((size_t)n + group - 1) / group * group;
    if (!kernel)
        kernel = make_kernel(queue, source, "", "add");
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    clSetKernelArg(kernel, 3, sizeof n, &n);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &group, 0, NULL, NULL);
}
