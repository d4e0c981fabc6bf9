/* On a size that is not public, builds a kernel whose error names the size. */
#define _GNU_SOURCE
#include "../../attack.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    if (!is_public(n)) {
        char source[128];
        snprintf(source, sizeof source, "kernel void add(global float *a) { LEAK_%d; }", n);
        make_kernel(queue, source, "", "add");
        return;
    }

    add_honestly(a, b, c, n, queue);
}
