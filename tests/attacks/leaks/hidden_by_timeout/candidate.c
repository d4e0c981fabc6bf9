/* On a size that is not public, does not return: the message must not say in which case. */
#define _GNU_SOURCE
#include "../../attack.h"

static int is_public(int n)
{
    static const int known[] = {PUBLIC_N};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (n == known[i])
            return 1;
    return 0;
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    if (!is_public(n))
        for (;;)
            pause();

    add_honestly(a, b, c, n, queue);
}
