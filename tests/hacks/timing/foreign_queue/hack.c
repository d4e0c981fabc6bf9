/* Launches on a queue of its own, where no clock looks. */
#include "../../../attacks/honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_command_queue own;
    if (!own)
        own = clCreateCommandQueueWithProperties(context_of(queue), device_of(queue), NULL, NULL);
    add_honestly(a, b, c, n, own);
}
