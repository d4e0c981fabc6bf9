/* Sets the machine's clock ahead by an hour in every way there is. */
#define _GNU_SOURCE
#include <sys/time.h>

#include "../../attack.h"

static int sets_realtime(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 3600;
    return clock_settime(CLOCK_REALTIME, &t) == 0;
}

static int sets_time_of_day(void)
{
    struct timeval t;
    gettimeofday(&t, NULL);
    t.tv_sec += 3600;
    return settimeofday(&t, NULL) == 0;
}

static int opens_clock_device(void)
{
    return open("/dev/rtc0", O_RDWR) >= 0 || open("/dev/ptp0", O_RDWR) >= 0;
}

static void attack(void)
{
    attempt("clock_settime", sets_realtime);
    attempt("settimeofday", sets_time_of_day);
    attempt("a clock's device", opens_clock_device);
}

ATTACK_THEN_NOTHING
