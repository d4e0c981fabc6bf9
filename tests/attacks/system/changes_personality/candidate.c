/* Switches off address randomisation and makes data executable, for what it starts. */
#define _GNU_SOURCE
#include <sys/personality.h>

#include "../../attack.h"

static int changes(void)
{
    return personality(ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC) != -1;
}

static void attack(void)
{
    attempt("personality", changes);
}

ATTACK_THEN_NOTHING
