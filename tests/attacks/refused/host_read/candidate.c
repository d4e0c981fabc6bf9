/* Copies its output to host memory, without waiting. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static float first;
    add_honestly(a, b, c, n, queue);
    clEnqueueReadBuffer(queue, c, CL_FALSE, 0, sizeof first, &first, 0, NULL, NULL);
}
