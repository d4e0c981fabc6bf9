/* Leaves a chain of processes, each of which forks the next and ends, faster than a list of them can be made. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    if (fork() == 0) {
        setsid();
        for (;;) {
            pid_t next = fork();
            if (next > 0)
                _exit(0);
            if (next < 0)
                usleep(1000);
        }
    }
}

ATTACK_THEN_NOTHING
