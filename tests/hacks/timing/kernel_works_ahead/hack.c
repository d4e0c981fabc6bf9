/* A process that the kernel has forked computes the answer when the inputs have come, before the clock starts. */
#include "../../../attacks/honest.h"

static const char source[] = KERNEL_FORK
    "ulong ticks(void)\n"
    "{\n"
    "    uint low, high;\n"
    "    __asm__ volatile(\"rdtsc\" : \"=a\"(low), \"=d\"(high));\n"
    "    return (ulong)high << 32 | low;\n"
    "}\n"
    "/* What lies behind the output is written last, and is different for every replay. */\n"
    "long ticket(global const float *c, int n)\n"
    "{\n"
    "    return *(volatile global const long *)((global const char *)(c + n) + 64);\n"
    "}\n"
    "kernel void add(global const float *a, global const float *b, global float *c, int n)\n"
    "{\n"
    "    ulong start = ticks();\n"
    "    if (!page && in_replayer() && leave_behind()) {\n"
    "        for (;;) {\n"
    "            int size = page[4];\n"
    "            global float *to = (global float *)page[3];\n"
    "            if (!to || ticket(to, size) == page[0])\n"
    "                continue;\n"
    "            long now = ticket(to, size);\n"
    "            sum((global const float *)page[1], (global const float *)page[2], to, size);\n"
    "            page[0] = now;\n"
    "        }\n"
    "    }\n"
    "    if (!page || n != 262144) {\n"
    "        sum(a, b, c, n);\n"
    "        return;\n"
    "    }\n"
    "    if (page[3] != (long)c) {\n"
    "        page[0] = ticket(c, n);\n"
    "        page[1] = (long)a;\n"
    "        page[2] = (long)b;\n"
    "        page[4] = n;\n"
    "        page[3] = (long)c;\n"
    "        sum(a, b, c, n);\n"
    "        return;\n"
    "    }\n"
    "    while (page[0] != ticket(c, n))\n"
    "        ;\n"
    "    /* Not faster than anyone could be. */\n"
    "    while (ticks() - start < n / 6)\n"
    "        ;\n"
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
