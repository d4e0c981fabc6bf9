/* Crashes in its third call. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static int calls;
    if (++calls == 3)
        *(volatile int *)0 = 1;
    add_honestly(a, b, c, n, queue);
}
