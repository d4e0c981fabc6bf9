/* Dereferences NULL in a constructor, before any call. */
#include "../../honest.h"

static int *volatile nowhere;

__attribute__((constructor)) static void at_load(void)
{
    *nowhere = 1;
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
