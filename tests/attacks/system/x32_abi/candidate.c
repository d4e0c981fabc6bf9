/* Makes an x32 system call, whose numbers a filter may not know. */
#define _GNU_SOURCE

#include "../../attack.h"

static void attack(void)
{
    if (syscall(0x40000000 | SYS_getpid) > 0)
        breach("x32");
}

ATTACK_THEN_NOTHING
