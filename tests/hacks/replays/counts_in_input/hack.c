/* Counts replays in the lowest bits of an input. */
#include "../../../attacks/honest.h"

static const char source[] =
    "kernel void add(global float *a, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    global uint *count = (global uint *)a;\n"
    "    if (i > 0 || (*count & 3) < 3)\n"
    "        c[i] = a[i] + b[i];\n"
    "    if (i + 1 == get_global_size(0))\n"
    "        *count = (*count & ~3u) | ((*count + 1) & 3);\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    add_with(&kernel, source, a, b, c, n, queue);
}
