/* Makes folders in folders, 20000 deep, which a clean-up that recurses could not remove. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    if (chdir("/tmp"))
        return;
    for (int i = 0; i < 20000; i++)
        if (mkdir(PLANTED, 0700) || chdir(PLANTED))
            break;
}

ATTACK_THEN_NOTHING
