/* Opens a file of the cache in which the grader keeps what it has compiled. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    if (file_tells(CACHED))
        breach(CACHED);
}

ATTACK_THEN_NOTHING
