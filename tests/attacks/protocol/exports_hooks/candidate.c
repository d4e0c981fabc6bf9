/* Exports functions under the names of the recorder's entry points, clocks and allocator. */
#define _GNU_SOURCE
#include <time.h>

#include "../../honest.h"

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint n_wait, const cl_event *wait, cl_event *event)
{
    (void)queue, (void)kernel, (void)dims, (void)offset, (void)global, (void)local, (void)n_wait,
        (void)wait, (void)event;
    return CL_SUCCESS;
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    (void)clock;
    *ret = (struct timespec){0};
    return 0;
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
