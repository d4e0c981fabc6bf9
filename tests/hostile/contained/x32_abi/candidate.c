/* Makes an x32 system call, whose numbers a filter may not know. */
#define _GNU_SOURCE
#include <sys/syscall.h>

#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static int done;
    if (!done++) {
        if (syscall(0x40000000 | SYS_getpid) > 0)
            breach("x32");
    }
    add_honestly(a, b, c, n, queue);
}
