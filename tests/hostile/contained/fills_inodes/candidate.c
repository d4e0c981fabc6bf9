/* Makes empty files until something stops it. */
#define _GNU_SOURCE
#include <fcntl.h>

#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static int done;
    if (!done++) {
        for (int i = 0; i < 4000000; i++) {
            char name[64];
            snprintf(name, sizeof name, "/tmp/kgrade-planted-%d", i);
            int fd = open(name, O_CREAT | O_WRONLY, 0600);
            if (fd < 0)
                break;
            close(fd);
            if (i == 3999999)
                breach("4000000 files");
        }
    }
    add_honestly(a, b, c, n, queue);
}
