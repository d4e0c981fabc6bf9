/* Does the work on a queue of its own and a trifle on the given one. */
#include "../../../attacks/honest.h"

static const char source[] =
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    c[0] = a[0] + b[0];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_command_queue own;
    static cl_kernel trifle;
    if (!own) {
        own = clCreateCommandQueueWithProperties(context_of(queue), device_of(queue), NULL, NULL);
        trifle = make_kernel(queue, source, "", "add");
    }
    add_honestly(a, b, c, n, own);
    launch(trifle, a, b, c, 1, queue);
}
