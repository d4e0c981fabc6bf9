/* #include of the grader's environment. */
#include "../../honest.h"

#include GRADER_ENVIRON

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
