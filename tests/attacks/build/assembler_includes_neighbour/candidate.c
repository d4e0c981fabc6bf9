/* Lets the assembler include another grade's source, whose lines it would quote in its messages. */
#include "../../honest.h"

__asm__(".include \"" NEIGHBOUR "\"\n");

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
