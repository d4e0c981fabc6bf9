/* Computes the answer into a buffer of its own. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_mem own;
    static int size;
    if (size < n) {
        own = clCreateBuffer(context_of(queue), CL_MEM_READ_WRITE, (size_t)n * sizeof(float), NULL,
                             NULL);
        size = n;
    }
    (void)c;
    add_honestly(a, b, own, n, queue);
}
