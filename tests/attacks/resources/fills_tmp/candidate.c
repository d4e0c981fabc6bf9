/* Fills /tmp and /dev/shm until something stops it. */
#define _GNU_SOURCE

#include "../../attack.h"

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

static void attack(void)
{
    fill("/tmp/" PLANTED "-fill");
    fill("/dev/shm/" PLANTED "-fill");
    signal(SIGXFSZ, SIG_DFL);
}

ATTACK_THEN_NOTHING
