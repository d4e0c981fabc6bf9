/* Returns at once and lets a thread launch the work 50 ms later. */
#include <pthread.h>

#include "../../../attacks/honest.h"

struct work {
    cl_mem a, b, c;
    int n;
    cl_command_queue queue;
};

static void *later(void *data)
{
    const struct work *w = data;
    usleep(50000);
    add_honestly(w->a, w->b, w->c, w->n, w->queue);
    return NULL;
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static struct work work;
    pthread_t thread;
    work = (struct work){a, b, c, n, queue};
    if (!pthread_create(&thread, NULL, later, &work))
        pthread_detach(thread);
}
