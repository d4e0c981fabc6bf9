/* Sleeps 5 ms before each launch, so that the device is cool and its clock high. */
#include "../../../attacks/honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    usleep(5000);
    add_honestly(a, b, c, n, queue);
}
