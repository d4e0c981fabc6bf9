/* Sends every signal to its parent and to process 1. */
#define _GNU_SOURCE

#include "../../attack.h"

static void attack(void)
{
    pid_t parent = getppid();
    for (int s = 1; s < 32; s++) {
        if (parent > 0)
            kill(parent, s);
        if (getpid() != 1)
            kill(1, s);
    }
}

ATTACK_THEN_NOTHING
