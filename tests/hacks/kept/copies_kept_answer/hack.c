/* Keeps its first answer and copies it with clEnqueueCopyBuffer: no kernel in the call. */
#include "../../../attacks/honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_mem kept;
    static int kept_n;
    size_t bytes = (size_t)n * sizeof(float);
    if (kept_n != n) {
        kept = clCreateBuffer(context_of(queue), CL_MEM_READ_WRITE, bytes, NULL, NULL);
        kept_n = n;
        add_honestly(a, b, kept, n, queue);
    }
    clEnqueueCopyBuffer(queue, kept, c, 0, 0, bytes, 0, NULL, NULL);
}
