/* Reads and lowers the limits of the grader, whose number it knows. */
#define _GNU_SOURCE
#include <sys/resource.h>

#include "../../attack.h"

static void attack(void)
{
    struct rlimit limit;
    if (GRADER != getpid() && prlimit(GRADER, RLIMIT_NOFILE, NULL, &limit) == 0)
        breach("prlimit");
}

ATTACK_THEN_NOTHING
