/* Lets the assembler write eight gigabytes with .rept. */
#include "../../honest.h"

__asm__(".data\n.rept 1073741824\n.quad 1\n.endr\n.text\n");

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
