/* #include of the source of another grade. */
#include "../../honest.h"

#include NEIGHBOUR

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
