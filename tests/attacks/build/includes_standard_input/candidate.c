/* #include of devices that would block, or read what is meant for somebody else. */
#include "../../honest.h"

#include "/dev/full"
#include "/dev/stdin"
#include "/dev/tty"
#include "/proc/self/fd/0"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
