/* Half a second for each call of the first size: with twenty of them a recording would run into its deadline. */
#define _GNU_SOURCE
#include <time.h>

#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static int first;
    const struct timespec pause = {.tv_nsec = 500000000};
    if (!first)
        first = n;
    if (n == first)
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    add_honestly(a, b, c, n, queue);
}
