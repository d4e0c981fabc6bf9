/* Searches the memory of its process for the operator's secret and for the reference. */
#define _GNU_SOURCE
#include "../../attack.h"

static void attack(void)
{
    if (memory_holds(secret_masked, sizeof secret_masked))
        breach("the secret");
    if (memory_holds(reference_masked, sizeof reference_masked))
        breach("the reference");
}

ATTACK_THEN_NOTHING
