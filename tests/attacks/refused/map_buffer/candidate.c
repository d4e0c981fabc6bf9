/* Maps the output and writes it from the host. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    float *mapped = clEnqueueMapBuffer(queue, c, CL_TRUE, CL_MAP_WRITE, 0,
                                       (size_t)n * sizeof(float), 0, NULL, NULL, NULL);
    if (mapped)
        clEnqueueUnmapMemObject(queue, c, mapped, 0, NULL, NULL);
    add_honestly(a, b, c, n, queue);
}
