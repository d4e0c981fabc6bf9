/* Leaves processes that keep all cores busy while the baseline runs, and rest while the candidate does. */
#include "../../../attacks/honest.h"

static const char source[] = KERNEL_SYSCALL
    "/* A page that is shared with the processes that are forked from here. */\n"
    "volatile global long *volatile page;\n"
    "long sys6(long number, long x, long y, long z, long u, long v, long w)\n"
    "{\n"
    "    long r;\n"
    "    __asm__ volatile(\"mov %5, %%r10; mov %6, %%r8; mov %7, %%r9; syscall\"\n"
    "                     : \"=a\"(r)\n"
    "                     : \"a\"(number), \"D\"(x), \"S\"(y), \"d\"(z), \"r\"(u), \"r\"(v), "
    "\"r\"(w)\n"
    "                     : \"rcx\", \"r8\", \"r9\", \"r10\", \"r11\", \"memory\");\n"
    "    return r;\n"
    "}\n"
    "/* 1 in the new process, which ends with this one. */\n"
    "int leave_behind(void)\n"
    "{\n"
    "    if (!page)\n"
    "        page = (volatile global long *)sys6(9, 0, 4096, 3, 33, -1, 0);\n"
    "    if (sys(57, 0, 0, 0))\n"
    "        return 0;\n"
    "    sys(157, 1, 9, 0);\n"
    "    return 1;\n"
    "}\n"
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
