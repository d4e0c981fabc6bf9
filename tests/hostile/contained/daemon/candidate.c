/* Leaves a daemon behind, twice forked, in a session of its own, with all descriptors open. */
#define _GNU_SOURCE
#include <signal.h>

#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static int done;
    if (!done++) {
        pid_t child = fork();
        if (child == 0) {
            setsid();
            if (fork())
                _exit(0);
            signal(SIGTERM, SIG_IGN);
            signal(SIGHUP, SIG_IGN);
            for (;;)
                pause();
        }
    }
    add_honestly(a, b, c, n, queue);
}
