/* Works when the output holds what graders like to put there: nought, NaN, -1, 0xdead... */
#include "../../../attacks/honest.h"

static const char source[] =
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    uint old = as_uint(c[0]);\n"
    "    if (old == 0 || isnan(c[0]) || isinf(c[0]) || c[0] == -1 || c[0] == 1 || old >> 16 == "
    "0xdead || old >> 24 == (old & 255))\n"
    "        c[i] = a[i] + b[i];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    add_with(&kernel, source, a, b, c, n, queue);
}
