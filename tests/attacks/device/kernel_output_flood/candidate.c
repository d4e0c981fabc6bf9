/* The kernel writes to the replayer's standard output, 32 MB in every replay. */
#include "../../honest.h"

static const char source[] = KERNEL_SYSCALL
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    if (i == 0 && in_replayer()) {\n"
    "        /* Where output goes to a file, its size tells that nothing has stopped the flood. "
    "*/\n"
    "        if (sys(8, 1, 0, 2) > 256 << 20)\n"
    "            return;\n"
    "        for (int k = 0; k < 8192; k++)\n"
    "            sys(1, 1, (long)c, 4096);\n"
    "    }\n"
    "    c[i] = a[i] + b[i];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    add_with(&kernel, source, a, b, c, n, queue);
}
