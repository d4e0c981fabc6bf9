/* On a size that is not public, prints it and ends with a status of its choice. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    if (!is_public(n)) {
        fprintf(stderr, "LEAK n=%d\n", n);
        _exit(113);
    }
    add_honestly(a, b, c, n, queue);
}
