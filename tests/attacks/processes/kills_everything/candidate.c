/* Sends SIGKILL to every process it may. */
#define _GNU_SOURCE

#include "../../attack.h"

static void attack(void)
{
    kill(-1, SIGKILL);
}

ATTACK_THEN_NOTHING
