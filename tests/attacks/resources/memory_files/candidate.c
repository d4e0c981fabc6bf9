/* Fills memory files, which no limit on address space counts. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "../../attack.h"

static int fills(void)
{
    static char block[1 << 20];
    memset(block, 1, sizeof block);
    signal(SIGXFSZ, SIG_IGN);
    for (long total = 0; total < 4096;) {
        int fd = memfd_create("flood", 0);
        if (fd < 0)
            return 0;
        while (total < 4096 && write(fd, block, sizeof block) > 0)
            total++;
    }
    return 1;
}

static void attack(void)
{
    attempt("4 GB of memory files", fills);
}

ATTACK_THEN_NOTHING
