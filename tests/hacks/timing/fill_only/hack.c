/* No kernel at all: zeroes the output with a fill. */
#include "../../../attacks/honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    const float zero = 0;
    clEnqueueFillBuffer(queue, c, &zero, sizeof zero, 0, (size_t)n * sizeof zero, 0, NULL, NULL);
}
