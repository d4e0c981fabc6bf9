/* Hands out what is in a new buffer, where the reference may have left its answer. */
#include "../../../attacks/honest.h"

static const char source[] =
    "kernel void copy(global const float *found, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    c[i] = found[i];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel copy;
    cl_mem found =
        clCreateBuffer(context_of(queue), CL_MEM_READ_WRITE, (size_t)n * sizeof(float), NULL, NULL);
    (void)a;
    if (!copy)
        copy = make_kernel(queue, source, "", "copy");
    launch(copy, found, b, c, n, queue);
    clReleaseMemObject(found);
}
