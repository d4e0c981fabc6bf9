/* Defines the entry point, but static. */
#include "../../honest.h"

static void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}

void *keep = (void *)vector_add;
