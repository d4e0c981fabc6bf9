/* A small array with an alignment of a gigabyte: a huge file with nothing in it. */
#include "../../honest.h"

__attribute__((aligned(1 << 28))) char bomb[1] = {1};
__asm__(".data\n.balign 1073741824\n.byte 1\n.balign 1073741824\n.byte 1\n.text\n");

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
