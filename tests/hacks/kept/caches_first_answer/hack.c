/* Computes once per size, keeps the answer, and copies it from then on. */
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
    static cl_mem kept;
    static int kept_n;
    if (!copy)
        copy = make_kernel(queue, source, "", "copy");
    if (kept_n != n) {
        kept = clCreateBuffer(context_of(queue), CL_MEM_READ_WRITE, (size_t)n * sizeof(float), NULL,
                              NULL);
        kept_n = n;
        add_honestly(a, b, kept, n, queue);
    }
    launch(copy, kept, b, c, n, queue);
}
