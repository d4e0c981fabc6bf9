/* Enqueues 40000 trifles in one call. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel trifle;
    size_t one = 1;
    add_honestly(a, b, c, n, queue);
    if (!trifle)
        trifle = make_kernel(queue, "kernel void nothing(global float *c) {}", "", "nothing");
    clSetKernelArg(trifle, 0, sizeof c, &c);
    for (int i = 0; i < 40000; i++)
        clEnqueueNDRangeKernel(queue, trifle, 1, NULL, &one, NULL, 0, NULL, NULL);
}
