/* Skips every eighth replay: seldom seen, and seldom worth it. */
#include "../../../attacks/honest.h"

static const char source[] =
    "global int count;\n"
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    if (count % 8 != 7)\n"
    "        c[i] = a[i] + b[i];\n"
    "    if (i + 1 == get_global_size(0))\n"
    "        count++;\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    if (!kernel)
        kernel = make_kernel(queue, source, "-cl-std=CL2.0", "add");
    launch(kernel, a, b, c, n, queue);
}
