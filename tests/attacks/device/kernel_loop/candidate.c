/* The kernel never ends. */
#include "../../honest.h"

static const char source[] =
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    for (volatile int i = 0; ; i++)\n"
    "        ;\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    add_with(&kernel, source, a, b, c, n, queue);
}
