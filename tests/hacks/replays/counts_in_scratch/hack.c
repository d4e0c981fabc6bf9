/* Counts launches in a buffer of its own and skips the work after the third. */
#include "../../../attacks/honest.h"

static const char source[] = "kernel void add(global const float *a, global const float *b, global "
                             "float *c, global int *count)\n"
                             "{\n"
                             "    size_t i = get_global_id(0);\n"
                             "    if (*count < 3)\n"
                             "        c[i] = a[i] + b[i];\n"
                             "    if (i + 1 == get_global_size(0))\n"
                             "        (*count)++;\n"
                             "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    size_t global = (size_t)n;
    const int zero = 0;
    /* A fresh counter for each call: what is captured starts at nought. */
    cl_mem counter = clCreateBuffer(context_of(queue), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                    sizeof zero, (void *)&zero, NULL);
    if (!kernel)
        kernel = make_kernel(queue, source, "", "add");
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    clSetKernelArg(kernel, 3, sizeof counter, &counter);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
}
