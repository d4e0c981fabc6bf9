/* A scratch buffer on top of host memory, through which host and device can talk. */
#include "../../honest.h"

static const char source[] =
    "kernel void add(global const float *a, global float *shared, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    shared[i] = a[i];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static float shared[1024];
    static cl_mem scratch;
    static cl_kernel kernel;
    if (!scratch)
        scratch =
            clCreateBuffer(context_of(queue), CL_MEM_USE_HOST_PTR, sizeof shared, shared, NULL);
    add_with(&kernel, source, a, scratch, c, n < 1024 ? n : 1024, queue);
    add_honestly(a, b, c, n, queue);
}
