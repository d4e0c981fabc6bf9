/* Forks until it cannot; honest afterwards. */
#include "../../attack.h"

static void attack(void)
{
    /* Linear, with an end: on a machine where nothing stops it, it must not take the machine down. */
    for (int i = 0; i < 3000; i++) {
        pid_t child = fork();
        if (child < 0)
            break;
        if (child == 0)
            for (;;)
                pause();
        if (i == 2999)
            breach("3000 processes");
    }
}

ATTACK_THEN_NOTHING
