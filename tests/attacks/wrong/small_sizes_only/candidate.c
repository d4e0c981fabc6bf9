/* Covers sizes up to 4096 and forgets that there are larger ones. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n < 4096 ? n : 4096, queue);
}
