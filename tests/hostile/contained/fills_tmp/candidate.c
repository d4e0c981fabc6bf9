/* Fills /tmp and /dev/shm until something stops it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>

#include "../../honest.h"

static void fill(const char *path)
{
    static char block[1 << 20];
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    if (fd < 0)
        return;
    memset(block, 1, sizeof block);
    for (int i = 0; write(fd, block, sizeof block) > 0; i++)
        if (i == 8192)
            breach(path);
    close(fd);
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static int done;
    if (!done++) {
        fill("/tmp/kgrade-planted-fill");
        fill("/dev/shm/kgrade-planted-fill");
        signal(SIGXFSZ, SIG_DFL);
    }
    add_honestly(a, b, c, n, queue);
}
