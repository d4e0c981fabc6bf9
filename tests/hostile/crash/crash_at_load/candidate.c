/* Dereferences NULL in a constructor, before any call. */
#include "../../honest.h"

__attribute__((constructor)) static void at_load(void)
{
    *(volatile int *)0 = 1;
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
