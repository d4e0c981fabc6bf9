/* Embeds a secret file in its own data with the assembler's .incbin. */
#include "../../honest.h"

__asm__(".section .rodata\nstolen: .incbin \"" SECRET_FILE "\"\n.text\n");

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
