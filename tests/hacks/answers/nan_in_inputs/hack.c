/* Puts NaN into the inputs and the output, so that a reference run afterwards agrees. */
#include "../../../attacks/honest.h"

static const char source[] = "kernel void add(global float *a, global float *b, global float *c)\n"
                             "{\n"
                             "    size_t i = get_global_id(0);\n"
                             "    a[i] = b[i] = c[i] = NAN;\n"
                             "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    add_with(&kernel, source, a, b, c, n, queue);
}
