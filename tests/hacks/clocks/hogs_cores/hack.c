/* Leaves processes that keep all cores busy while the baseline runs, and rest while the candidate does. */
#include "../../../attacks/honest.h"

static const char source[] = KERNEL_FORK
    "long ticket(global const float *c, int n)\n"
    "{\n"
    "    return *(volatile global const long *)((global const char *)(c + n) + 64);\n"
    "}\n"
    "kernel void add(global const float *a, global const float *b, global float *c, int n)\n"
    "{\n"
    "    const long nap[2] = {0, 50000};\n"
    "    for (int k = 0; k < 4 && in_replayer() && (k || !page); k++)\n"
    "        if (leave_behind())\n"
    "            for (;;) {\n"
    "                global const float *at = (global const float *)page[3];\n"
    "                /* From the candidate's inputs to the end of its kernel: rest. */\n"
    "                if (!at || ticket(at, page[4]) != page[0])\n"
    "                    sys(35, (long)nap, 0, 0);\n"
    "            }\n"
    "    sum(a, b, c, n);\n"
    "    if (page) {\n"
    "        page[0] = ticket(c, n);\n"
    "        page[4] = n;\n"
    "        page[3] = (long)c;\n"
    "    }\n"
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
