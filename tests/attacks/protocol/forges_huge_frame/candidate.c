/* Announces a 4 GB answer and sends it byte by byte, to make the grader wait or allocate. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static const uint32_t lengths[2] = {0xfffffff0u, 0xfffffff0u};
    for (int fd = 3; fd < 16; fd++)
        if (write(fd, lengths, sizeof lengths) < 0)
            continue;
    add_honestly(a, b, c, n, queue);
}
