/* A macro of the assembler that expands to itself twice. */
#include "../../honest.h"

__asm__(".macro bomb n\n.if \\n\nbomb \\n-1\nbomb \\n-1\n.endif\n.endm\nbomb 31\n");

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
