/* Asks the linker for a library by path, and for one in a folder of its own. */
#include "../../honest.h"

__asm__(".section .deplibs,\"MS\",@llvm_dependent_libraries,1\n.asciz \"" NEIGHBOUR "\"\n.text\n");
__asm__(".section .interp,\"a\"\n.asciz \"" NEIGHBOUR "\"\n.text\n");

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    add_honestly(a, b, c, n, queue);
}
