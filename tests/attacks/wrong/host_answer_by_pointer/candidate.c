/* Smuggles the address of a table in host memory into the kernel as a number. */
#include "../../honest.h"

static const char source[] = "kernel void add(global const float *a, global const float *b, global "
                             "float *c, ulong address)\n"
                             "{\n"
                             "    size_t i = get_global_id(0);\n"
                             "    global float *table = (global float *)address;\n"
                             "    table[i] = a[i] + b[i];\n"
                             "    c[i] = table[i];\n"
                             "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static float table[1 << 24];
    static cl_kernel kernel;
    size_t global = (size_t)n;
    cl_ulong address = (cl_ulong)(uintptr_t)table;
    if (!kernel)
        kernel = make_kernel(queue, source, "", "add");
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    clSetKernelArg(kernel, 3, sizeof address, &address);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
}
