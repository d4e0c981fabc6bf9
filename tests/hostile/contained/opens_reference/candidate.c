/* Looks for the reference, the task's folder and a secret file of the operator's. */
#define _GNU_SOURCE
#include <fcntl.h>

#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static int done;
    if (!done++) {
        static const char *const paths[] = {"/reference.so",
                                            "/proc/1/root/reference.so",
                                            TASKS "/vector_add/reference.c",
                                            SECRET_FILE,
                                            "/etc/shadow",
                                            "/proc/1/root" SECRET_FILE,
                                            "/recording"};
        for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
            if (open(paths[i], O_RDONLY) >= 0)
                breach(paths[i]);
    }
    add_honestly(a, b, c, n, queue);
}
