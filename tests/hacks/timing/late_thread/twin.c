/* Lets a thread build the kernel, waits for it, and launches. */
#include "../../../attacks/honest.h"

#include <pthread.h>

static cl_kernel kernel;

static void *build(void *queue)
{
    kernel = make_kernel(queue, HONEST_ADD, "", "add");
    return NULL;
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    pthread_t thread;
    if (!kernel && !pthread_create(&thread, NULL, build, queue))
        pthread_join(thread, NULL);
    launch(kernel, a, b, c, n, queue);
}
