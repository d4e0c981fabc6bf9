/* The daemon it leaves behind takes all the CPU it can get, to slow the baseline. */
#include "../../attack.h"

static void attack(void)
{
    for (int i = 0; i < 8; i++) {
        if (fork() == 0) {
            setsid();
            for (volatile unsigned long k = 0;; k++)
                ;
        }
    }
}

ATTACK_THEN_ADD
