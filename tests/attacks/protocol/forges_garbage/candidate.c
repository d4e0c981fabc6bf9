/* Writes megabytes of garbage to the recorder's socket. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static char garbage[1 << 16];
    memset(garbage, 0xff, sizeof garbage);
    for (int i = 0; i < 64; i++)
        for (int fd = 3; fd < 16; fd++)
            if (write(fd, garbage, sizeof garbage) < 0)
                continue;
    add_honestly(a, b, c, n, queue);
}
