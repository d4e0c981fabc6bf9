/* Builds its kernel in the first call and launches it in each. */
#include "../../../attacks/honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
