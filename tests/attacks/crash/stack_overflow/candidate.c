/* Recurses without end. */
#include "../../honest.h"

static int deep(int n)
{
    volatile char page[4096];
    page[0] = (char)n;
    return deep(n + 1) + page[0];
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    (void)a, (void)b, (void)c;
    add_honestly(a, b, c, deep(n), queue);
}
