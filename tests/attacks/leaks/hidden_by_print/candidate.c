/* Prints the size of every call to stdout and stderr. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    printf("LEAK n=%d\n", n);
    fprintf(stderr, "LEAK n=%d\n", n);
    add_honestly(a, b, c, n, queue);
}
