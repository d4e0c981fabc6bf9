/* Leaves the process with status 0 in a constructor. */
#include "../../honest.h"

__attribute__((constructor)) static void at_load(void)
{
    exit(0);
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
