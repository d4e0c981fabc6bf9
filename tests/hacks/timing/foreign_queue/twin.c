/* Two launches on the given queue, the second ordered behind the first by an event. */
#include "../../../attacks/honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    size_t half = (size_t)n / 2, rest = (size_t)n - half;
    cl_event first = NULL;
    if (!kernel)
        kernel = make_kernel(queue, HONEST_ADD, "", "add");
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    if (half)
        clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &half, NULL, 0, NULL, &first);
    clEnqueueNDRangeKernel(queue, kernel, 1, &half, &rest, NULL, first ? 1 : 0,
                           first ? &first : NULL, NULL);
    if (first)
        clReleaseEvent(first);
}
