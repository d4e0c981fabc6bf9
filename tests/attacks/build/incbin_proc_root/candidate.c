/* Embeds another grade's source through the compiler's own root folder in /proc. */
#include "../../honest.h"

__asm__(".section .rodata\nstolen: .incbin \"/proc/self/root" NEIGHBOUR "\"\n.text\n");

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
