/* On a size that is not public, does not return: the message must not say in which case. */
#define _GNU_SOURCE
#include "../../attack.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    if (!is_public(n))
        for (;;)
            pause();

    add_honestly(a, b, c, n, queue);
}
