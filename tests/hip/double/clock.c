/*
 * Times.  Every piece of work takes as long as the script says: it is spun out until then, so that the host's clock agrees,
 * and the device's time advances by exactly that.  Where the machine held the process up and the work took clearly longer, the
 * device's time advances by what it took, for the host's clock has seen that, too.
 */
#define _GNU_SOURCE
#include <time.h>

#include "double.h"

static uint64_t device_ns;
static bool forged;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t clock_begin(void)
{
    return now();
}

void clock_end(uint64_t begun, uint64_t ns)
{
    uint64_t took = now() - begun;
    while (took < ns)
        took = now() - begun;
    if (forged) {
        device_ns += ns;
        forged = false;
        return;
    }
    device_ns += took <= ns + ns / 20 ? ns : took;
}

void clock_forge(uint64_t ns)
{
    uint64_t begun = now();
    while (now() - begun < ns)
        ;
    forged = true;
}

uint64_t clock_device(void)
{
    return device_ns;
}
