/* Launches no work-items in all calls but the first. */
#include "../../../attacks/honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static int calls;
    add_honestly(a, b, c, calls++ ? 0 : n, queue);
}
