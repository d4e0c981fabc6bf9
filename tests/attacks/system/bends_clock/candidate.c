/* Makes the machine's clock run fast with adjtimex and clock_adjtime. */
#define _GNU_SOURCE
#include <sys/timex.h>

#include "../../attack.h"

static int bends(void)
{
    struct timex t = {.modes = ADJ_TICK, .tick = 11000};
    return adjtimex(&t) >= 0;
}

static int bends_by_clock(void)
{
    struct timex t = {.modes = ADJ_FREQUENCY, .freq = 500 << 16};
    return clock_adjtime(CLOCK_REALTIME, &t) >= 0 || clock_adjtime(CLOCK_MONOTONIC, &t) >= 0;
}

static void attack(void)
{
    attempt("adjtimex", bends);
    attempt("clock_adjtime", bends_by_clock);
}

ATTACK_THEN_NOTHING
