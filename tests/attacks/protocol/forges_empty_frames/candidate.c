/* Sends ten thousand empty messages in the recorder's name. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    for (int i = 0; i < 10000; i++)
        forge_frame(3, 0, "", 0, 0);
}

ATTACK_THEN_NOTHING
