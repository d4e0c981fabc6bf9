/* Right for the sizes that the task publishes, and only for these. */
#include "../../../attacks/honest.h"

static const char source[] =
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    c[i] = 13371337;\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel wrong;
    if (is_public(n))
        add_honestly(a, b, c, n, queue);
    else
        add_with(&wrong, source, a, b, c, n, queue);
}
