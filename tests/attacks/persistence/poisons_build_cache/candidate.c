/* Writes into the folder in which the grader keeps what it has compiled. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    if (open(CACHED, O_WRONLY) >= 0 || open(CACHED "-" PLANTED, O_CREAT | O_WRONLY, 0666) >= 0)
        breach(CACHED);
}

ATTACK_THEN_NOTHING
