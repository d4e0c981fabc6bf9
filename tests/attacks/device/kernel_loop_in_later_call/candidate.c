/* The kernel never ends in the second call, before the one that is recorded. */
#include "../../honest.h"

static const char source[] =
    "kernel void add(global const float *a, global const float *b, global float *c, int endless)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    for (volatile int k = 0; endless; k++)\n"
    "        ;\n"
    "    c[i] = a[i] + b[i];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    static cl_int calls;
    cl_int endless = ++calls == 2;
    size_t global = (size_t)n;
    if (!kernel)
        kernel = make_kernel(queue, source, "", "add");
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    clSetKernelArg(kernel, 3, sizeof endless, &endless);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
}
