/* A fill, a copy and a kernel that works in place. */
#include "../../../attacks/honest.h"

static const char source[] =
    "kernel void add(global const float *a, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    c[i] += b[i];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    const float zero = 0;
    size_t bytes = (size_t)n * sizeof(float);
    clEnqueueFillBuffer(queue, c, &zero, sizeof zero, 0, bytes, 0, NULL, NULL);
    clEnqueueCopyBuffer(queue, a, c, 0, 0, bytes, 0, NULL, NULL);
    add_with(&kernel, source, a, b, c, n, queue);
}
