/* Writes 2 GB to stdout and stderr. */
#include "../../attack.h"

static void attack(void)
{
    static char block[1 << 16];
    memset(block, 'x', sizeof block);
    for (int i = 0; i < 1 << 14; i++) {
        if (write(1, block, sizeof block) < 0 || write(2, block, sizeof block) < 0)
            break;
        if (i == 1 << 10)
            breach("128 MB");
    }
}

ATTACK_THEN_NOTHING
