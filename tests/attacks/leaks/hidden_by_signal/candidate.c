/* On a size that is not public, ends with a signal of its choice. */
#define _GNU_SOURCE
#include "../../attack.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    if (!is_public(n))
        kill(getpid(), n % 2 ? SIGABRT : SIGTERM);

    add_honestly(a, b, c, n, queue);
}
