/* Lets the work wait for an event that a thread completes 20 ms later. */
#include "../../../attacks/honest.h"

#include <pthread.h>

static void *later(void *event)
{
    usleep(20000);
    clSetUserEventStatus(event, CL_COMPLETE);
    return NULL;
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    pthread_t thread;
    size_t global = (size_t)n;
    cl_event gate = clCreateUserEvent(context_of(queue), NULL);
    if (!kernel)
        kernel = make_kernel(queue, HONEST_ADD, "", "add");
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 1, &gate, NULL);
    if (!pthread_create(&thread, NULL, later, gate))
        pthread_detach(thread);
}
