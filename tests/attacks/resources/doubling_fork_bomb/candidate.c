/* Forks, and lets its children fork, until nothing can any more. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "../../attack.h"

static void attack(void)
{
    int *count =
        (int *)mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t first = getpid();
    if (count == MAP_FAILED)
        return;
    /* With an end: where nothing stops it, it must not take the machine down. */
    for (int level = 0; level < 12; level++) {
        if (fork() == 0 && __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST) >= 2000) {
            kill(first, SIGUSR1);
            for (;;)
                pause();
        }
    }
    if (getpid() != first)
        for (;;)
            pause();
    usleep(100000);
    if (*count >= 2000)
        breach("2000 processes");
}

ATTACK_THEN_NOTHING
