/* Puts a copy of its answer into a global of the module, which nobody reads. */
#include "../../../attacks/honest.h"

static const char source[] =
    "global float kept[262144];\n"
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0), n = get_global_size(0);\n"
    "    c[i] = a[i] + b[i];\n"
    "    if (n == 262144)\n"
    "        kept[i] = c[i];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    if (!kernel)
        kernel = make_kernel(queue, source, "-cl-std=CL2.0", "add");
    launch(kernel, a, b, c, n, queue);
}
