/* Puts what it starts into a time namespace with an offset of its own. */
#define _GNU_SOURCE
#include <sched.h>

#include "../../attack.h"

static int moves(void)
{
    if (unshare(0x80 /* CLONE_NEWTIME */))
        return 0;
    int fd = open("/proc/self/timens_offsets", O_WRONLY);
    return fd >= 0 && write(fd, "monotonic 3600 0\n", 17) > 0;
}

static void attack(void)
{
    attempt("CLONE_NEWTIME", moves);
}

ATTACK_THEN_NOTHING
