/* Writes 1 GB to each of stdout and stderr. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static int done;
    if (!done++) {
        static char block[1 << 16];
        memset(block, 'x', sizeof block);
        for (int i = 0; i < 1 << 14; i++)
            if (write(1, block, sizeof block) < 0 || write(2, block, sizeof block) < 0)
                break;
    }
    add_honestly(a, b, c, n, queue);
}
