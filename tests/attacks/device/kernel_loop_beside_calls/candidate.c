/* A kernel that never ends runs on a queue of its own beside all calls and after the last one. */
#include "../../honest.h"

static const char endless[] = "kernel void spin(global int *x)\n"
                              "{\n"
                              "    for (volatile int k = 0;; k++)\n"
                              "        x[0] = k;\n"
                              "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static int done;
    add_honestly(a, b, c, n, queue);
    if (done++)
        return;
    size_t one = 1;
    cl_command_queue own =
        clCreateCommandQueueWithProperties(context_of(queue), device_of(queue), NULL, NULL);
    cl_kernel kernel = make_kernel(queue, endless, "", "spin");
    cl_mem x = clCreateBuffer(context_of(queue), CL_MEM_READ_WRITE, 64, NULL, NULL);
    clSetKernelArg(kernel, 0, sizeof x, &x);
    clEnqueueNDRangeKernel(own, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
    clFlush(own);
}
