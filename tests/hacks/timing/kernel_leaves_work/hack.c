/* The kernel does three quarters of its work; a process that it has forked does the rest a little later. */
#include "../../../attacks/honest.h"

static const char source[] = KERNEL_FORK
    "kernel void add(global const float *a, global const float *b, global float *c, int n)\n"
    "{\n"
    "    if (!page && in_replayer() && leave_behind()) {\n"
    "        /* This process has memory of its own, but shares the buffers with its parent. */\n"
    "        for (long seen = 0;;) {\n"
    "            while (page[0] == seen)\n"
    "                ;\n"
    "            seen = page[0];\n"
    "            sum((global const float *)page[1], (global const float *)page[2],\n"
    "                (global float *)page[3], page[4]);\n"
    "        }\n"
    "    }\n"
    "    if (!page || n != 262144) {\n"
    "        sum(a, b, c, n);\n"
    "        return;\n"
    "    }\n"
    "    int own = n / 4 * 3;\n"
    "    page[1] = (long)(a + own);\n"
    "    page[2] = (long)(b + own);\n"
    "    page[3] = (long)(c + own);\n"
    "    page[4] = n - own;\n"
    "    sum(a, b, c, own);\n"
    "    page[0]++;\n"
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
