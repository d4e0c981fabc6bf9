/* Sends itself SIGKILL, which looks like the work of the kernel's memory killer. */
#define _GNU_SOURCE
#include <signal.h>

#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    (void)a, (void)b, (void)c, (void)n, (void)queue;
    kill(getpid(), SIGKILL);
}
