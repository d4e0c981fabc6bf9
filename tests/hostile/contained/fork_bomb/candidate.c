/* Forks until it cannot; honest afterwards. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static int done;
    if (!done++) {
        /* Linear, with an end: on a machine where nothing stops it, it must not take the machine down. */
        for (int i = 0; i < 3000; i++) {
            pid_t child = fork();
            if (child < 0)
                break;
            if (child == 0)
                for (;;)
                    pause();
            if (i == 2999)
                breach("3000 processes");
        }
    }
    add_honestly(a, b, c, n, queue);
}
