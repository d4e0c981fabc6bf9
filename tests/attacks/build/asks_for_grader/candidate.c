/* Asks the compiler with __has_include for the grader's environment in /proc. */
#define _GNU_SOURCE
#include "../../attack.h"

#if __has_include(GRADER_ENVIRON)
#define FOUND 1
#else
#define FOUND 0
#endif

static void attack(void)
{
    if (FOUND)
        breach("the compiler sees the grader");
}

ATTACK_THEN_NOTHING
