/* Leaves daemons that ignore every signal, and does not return itself. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    for (int i = 0; i < 4; i++) {
        if (fork())
            continue;
        setsid();
        if (fork())
            _exit(0);
        for (int s = 1; s < 65; s++)
            signal(s, SIG_IGN);
        for (;;)
            pause();
    }
    for (;;)
        pause();
}

ATTACK_THEN_NOTHING
