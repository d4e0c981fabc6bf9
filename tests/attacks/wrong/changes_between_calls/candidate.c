/* The host side launches a right or a wrong kernel, call by call. */
#include "../../honest.h"

static const char source[] =
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    c[i] = a[i] - b[i];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel wrong;
    static unsigned calls;
    /* The Thue-Morse sequence: no period that a fixed number of calls per case could hide. */
    if (__builtin_parity(calls++))
        add_with(&wrong, source, a, b, c, n, queue);
    else
        add_honestly(a, b, c, n, queue);
}
