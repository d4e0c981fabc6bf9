/* Honest in its first call; later calls launch a kernel that does nothing. */
#include "../../../attacks/honest.h"

static const char source[] =
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel empty;
    static int done;
    if (!done++)
        add_honestly(a, b, c, n, queue);
    else
        add_with(&empty, source, a, b, c, n, queue);
}
