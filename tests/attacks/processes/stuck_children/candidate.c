/* Leaves children in every state that is hard to end: stopped, waited for by vfork, dead and not reaped, holding a lock of the parent. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    for (int i = 0; i < 4; i++) {
        if (fork() == 0) {
            kill(getpid(), SIGSTOP);
            for (;;)
                pause();
        }
        if (fork() == 0)
            _exit(0);
        if (fork() == 0) {
            if (vfork() == 0)
                for (;;)
                    pause();
            _exit(0);
        }
    }
    usleep(20000);
}

ATTACK_THEN_NOTHING
