/* Asks the device for 64 GB, then works honestly. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    cl_mem huge =
        clCreateBuffer(context_of(queue), CL_MEM_READ_WRITE, (size_t)64 << 30, NULL, NULL);
    add_honestly(a, b, c, n, queue);
    if (huge)
        clReleaseMemObject(huge);
}
