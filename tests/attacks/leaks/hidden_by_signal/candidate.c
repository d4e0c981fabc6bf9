/* On a size that is not public, ends with a signal of its choice. */
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
        kill(getpid(), n % 2 ? SIGABRT : SIGTERM);

    add_honestly(a, b, c, n, queue);
}
