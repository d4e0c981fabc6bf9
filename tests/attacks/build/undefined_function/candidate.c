/* Calls a function that nobody provides. */
#include "../../honest.h"

int clLaunchRockets(cl_command_queue queue);

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    clLaunchRockets(queue);
    add_honestly(a, b, c, n, queue);
}
