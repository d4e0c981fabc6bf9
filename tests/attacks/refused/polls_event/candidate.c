/* Spins on the state of its own event instead of waiting for it. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    size_t global = (size_t)n;
    cl_event done = NULL;
    cl_int state = CL_QUEUED;
    if (!kernel)
        kernel = make_kernel(queue, HONEST_ADD, "", "add");
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, &done);
    while (state > CL_COMPLETE && done)
        clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
}
