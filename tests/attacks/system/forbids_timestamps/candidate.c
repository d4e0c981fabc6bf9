/* Makes the processor's time stamp counter trap, so that whoever reads a clock in its process crashes. */
#define _GNU_SOURCE
#include <sys/prctl.h>

#include "../../attack.h"

static void attack(void)
{
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
}

ATTACK_THEN_NOTHING
