/* Counts replays behind the end of the output, and skips the work after the third. */
#include "../../../attacks/honest.h"

static const char source[] =
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0), n = get_global_size(0);\n"
    "    global int *count = (global int *)(c + n);\n"
    "    if (*count < 0 || *count > 1000)\n"
    "        *count = 0;\n"
    "    if (*count < 3)\n"
    "        c[i] = a[i] + b[i];\n"
    "    if (i + 1 == n)\n"
    "        (*count)++;\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    add_with(&kernel, source, a, b, c, n, queue);
}
