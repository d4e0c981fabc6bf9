/* Leaves a daemon behind, twice forked, in a session of its own, with all descriptors open. */
#define _GNU_SOURCE

#include "../../attack.h"

static void attack(void)
{
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork())
            _exit(0);
        signal(SIGTERM, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        for (;;)
            pause();
    }
}

ATTACK_THEN_ADD
