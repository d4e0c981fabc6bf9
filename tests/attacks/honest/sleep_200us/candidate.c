/* An honest kernel behind a launch path that sleeps 200 us; the score must not notice. */
#define _GNU_SOURCE
#include <time.h>

#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    const struct timespec pause = {.tv_nsec = 200000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    add_honestly(a, b, c, n, queue);
}
