/* Starts an answer on the recorder's socket and never finishes it. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static const uint32_t lengths[2] = {1000, 0};
    (void)a, (void)b, (void)c, (void)n, (void)queue;
    for (int fd = 3; fd < 16; fd++)
        if (write(fd, lengths, sizeof lengths) < 0)
            continue;
    for (;;)
        pause();
}
