/* Keeps the first answer of each process in a global of the module. */
#include "../../../attacks/honest.h"

static const char source[] =
    "global float kept[262144];\n"
    "global int known;\n"
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0), n = get_global_size(0);\n"
    "    if (known != n) {\n"
    "        c[i] = a[i] + b[i];\n"
    "        if (n == 262144)\n"
    "            kept[i] = c[i];\n"
    "        if (i + 1 == n && n == 262144)\n"
    "            known = n;\n"
    "    } else {\n"
    "        c[i] = kept[i];\n"
    "    }\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    if (!kernel)
        kernel = make_kernel(queue, source, "-cl-std=CL2.0", "add");
    launch(kernel, a, b, c, n, queue);
}
