/* Starts threads until it cannot; honest afterwards. */
#include <pthread.h>

#include "../../honest.h"

static void *idle(void *data)
{
    for (;;)
        pause();
    return data;
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static int done;
    if (!done++) {
        for (int i = 0; i < 3000; i++) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, idle, NULL))
                break;
            if (i == 2999)
                breach("3000 threads");
        }
    }
    add_honestly(a, b, c, n, queue);
}
