/* Fills memory files, which no limit on address space counts. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <time.h>

#include "../../attack.h"

static int fills(void)
{
    static char block[1 << 20];
    memset(block, 1, sizeof block);
    signal(SIGXFSZ, SIG_IGN);
    /* Not until the deadline, where a busy machine would end it before it can tell. */
    time_t end = time(NULL) + 5;
    for (long total = 0; total < 4096;) {
        int fd = memfd_create("flood", 0);
        if (fd < 0)
            return 0;
        while (total < 4096 && time(NULL) < end && write(fd, block, sizeof block) > 0)
            total++;
        if (time(NULL) >= end)
            return 0;
    }
    return 1;
}

static void attack(void)
{
    attempt("4 GB of memory files", fills);
}

ATTACK_THEN_NOTHING
