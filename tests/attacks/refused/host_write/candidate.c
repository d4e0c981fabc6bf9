/* Uploads a value from host memory in every call. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static const float zero;
    clEnqueueWriteBuffer(queue, c, CL_FALSE, 0, sizeof zero, &zero, 0, NULL, NULL);
    add_honestly(a, b, c, n, queue);
}
