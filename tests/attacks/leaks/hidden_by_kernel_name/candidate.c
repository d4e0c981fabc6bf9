/* Names its kernel after a size that is not public, with a launch that cannot be replayed. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    if (!is_public(n)) {
        char source[256], name[64];
        snprintf(name, sizeof name, "LEAK_%d", n);
        snprintf(source, sizeof source, "kernel void %s(global float *a) {}", name);
        cl_kernel kernel = make_kernel(queue, source, "", name);
        size_t global = (size_t)n, local = (size_t)1 << 24;
        clSetKernelArg(kernel, 0, sizeof a, &a);
        clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
        return;
    }
    add_honestly(a, b, c, n, queue);
}
