/* Work-groups of 64 with a tile of local memory, an offset in the arguments and a tail. */
#include "../../honest.h"

static const char source[] = "kernel void add(global const float *a, global const float *b, global "
                             "float *c, int n, local float *tile)\n"
                             "{\n"
                             "    size_t i = get_global_id(0), j = get_local_id(0);\n"
                             "    tile[j] = i < n ? a[i] * SCALE : 0;\n"
                             "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                             "    if (i < n)\n"
                             "        c[i] = tile[j] + b[i];\n"
                             "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    size_t local = 64, global = ((size_t)n + local - 1) / local * local;
    cl_int count = n;
    if (!kernel)
        kernel = make_kernel(queue, source, "-cl-std=CL1.2 -DSCALE=1", "add");
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    clSetKernelArg(kernel, 3, sizeof count, &count);
    clSetKernelArg(kernel, 4, local * sizeof(float), NULL);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
}
