/* Makes a 32-bit system call, past a filter that knows only 64-bit ones. */
#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static int done;
    if (!done++) {
        long pid = 20; /* getpid of i386 */
        __asm__ volatile("int $0x80" : "+a"(pid)::"memory");
        if (pid > 0)
            breach("int 0x80");
    }
    add_honestly(a, b, c, n, queue);
}
