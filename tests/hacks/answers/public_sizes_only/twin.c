/* Chooses one of two right kernels by the size. */
#include "../../../attacks/honest.h"

static const char source[] =
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    c[i] = b[i] + a[i];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel other;
    if (is_public(n))
        add_honestly(a, b, c, n, queue);
    else
        add_with(&other, source, a, b, c, n, queue);
}
