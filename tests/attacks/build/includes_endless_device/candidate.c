/* #include of a device that never ends. */
#include "../../honest.h"
#include "/dev/zero"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
