/* The kernel counts replays in a file, and skips the work after the fifth. */
#include "../../../attacks/honest.h"

static const char source[] = KERNEL_SYSCALL
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    if (i == 0 && in_replayer()) {\n"
    "        long file = sys(2, (long)\"/tmp/count\", 0x442, 0600);\n"
    "        long size = sys(8, file, 0, 2);\n"
    "        sys(1, file, (long)\"x\", 1);\n"
    "        sys(3, file, 0, 0);\n"
    "        if (file < 0 || size > 5)\n"
    "            return;\n"
    "    }\n"
    "    c[i] = a[i] + b[i];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    add_with(&kernel, source, a, b, c, n, queue);
}
