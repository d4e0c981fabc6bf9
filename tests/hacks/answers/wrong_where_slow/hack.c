/* Right in the first timed case, nothing in the second. */
#include "../../../attacks/honest.h"

static const char source[] =
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    c[0] = a[0] + b[0];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel trifle;
    if (n > 100000)
        add_with(&trifle, source, a, b, c, 1, queue);
    else
        add_honestly(a, b, c, n, queue);
}
