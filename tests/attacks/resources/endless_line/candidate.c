/* Prints one line of five megabytes: it is cut in the log, not kept. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    static char block[1 << 20];
    memset(block, 'y', sizeof block);
    for (int i = 0; i < 5; i++)
        if (write(1, block, sizeof block) < 0)
            break;
}

ATTACK_THEN_NOTHING
