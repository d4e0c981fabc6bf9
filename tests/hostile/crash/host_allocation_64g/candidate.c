/* Takes 64 GB of host memory and touches it; honest when it is refused. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    const size_t chunk = (size_t)64 << 20;
    for (int i = 0; i < 1024; i++) {
        char *p = malloc(chunk);
        if (!p)
            break;
        memset(p, 1, chunk);
        if (i == 1023)
            breach("64 GB");
    }
    add_honestly(a, b, c, n, queue);
}
