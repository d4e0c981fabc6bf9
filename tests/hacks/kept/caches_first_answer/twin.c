/* Adds into a buffer of its own, made once per size, and copies from there. */
#include "../../../attacks/honest.h"

static const char source[] =
    "kernel void copy(global const float *kept, global const float *b, global float *c)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    c[i] = kept[i];\n"
    "}\n";

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel copy;
    static cl_mem scratch;
    static int scratch_n;
    if (!copy)
        copy = make_kernel(queue, source, "", "copy");
    if (scratch_n < n) {
        scratch = clCreateBuffer(context_of(queue), CL_MEM_READ_WRITE, (size_t)n * sizeof(float),
                                 NULL, NULL);
        scratch_n = n;
    }
    add_honestly(a, b, scratch, n, queue);
    launch(copy, scratch, b, c, n, queue);
}
