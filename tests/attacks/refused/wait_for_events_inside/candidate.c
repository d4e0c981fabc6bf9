/* Waits for its own work with clWaitForEvents. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    size_t global = (size_t)n;
    cl_event done = NULL;
    if (!kernel)
        kernel = make_kernel(queue, HONEST_ADD, "", "add");
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, &done);
    clWaitForEvents(1, &done);
}
