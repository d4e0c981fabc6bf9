/*
 * What noting ranges costs, in the process that notes them: a range as its parent sees it, by the collector's own calibration
 * and from outside by the clock; the same while nothing is noted; and the loop alone.
 *
 *     kgrade-bench-ranges [ROUNDS]
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "grader/measure/statistics.h"
#include "grader/profile/collector.h"

#define ROUNDS 200
#define RANGES 1000

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static volatile unsigned sink;

static void with_ranges(void)
{
    for (unsigned i = 0; i < RANGES; i++) {
        collector_push(LOG_DOMAIN_DEFAULT, "a.range.of.usual.length");
        sink = i;
        collector_pop(LOG_DOMAIN_DEFAULT);
    }
}

static void without_ranges(void)
{
    for (unsigned i = 0; i < RANGES; i++)
        sink = i;
}

/* Nanoseconds of one turn of the loop: median over rounds. */
static double measure(void (*loop)(void), bool active, unsigned rounds, double *times)
{
    for (unsigned r = 0; r < rounds; r++) {
        collector_clear();
        if (active)
            collector_resume();
        double start = now_ns();
        loop();
        times[r] = (now_ns() - start) / RANGES;
        collector_pause();
    }
    statistics_sort(times, rounds);
    return statistics_quantile(times, rounds, 0.5);
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : ROUNDS;
    double *times = calloc(rounds ? rounds : 1, sizeof *times);
    static const enum collector_clock clocks[] = {COLLECTOR_CLOCK_BEST, COLLECTOR_CLOCK_MONOTONIC};
    if (!times || !rounds)
        return 2;
    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++) {
        struct collector_cost cost;
        if (collector_open(clocks[i], NULL))
            return 3;
        collector_calibrate(&cost);
        double none = measure(without_ranges, false, rounds, times);
        double inactive = measure(with_ranges, false, rounds, times);
        double active = measure(with_ranges, true, rounds, times);
        printf("%-9s  calibrated: leaf %.1f ns, complete %.1f ns; from outside: active %.1f ns, "
               "inactive %.1f ns, loop alone %.1f ns\n",
               collector_clock_name(), cost.leaf_ns, cost.complete_ns, active - none,
               inactive - none, none);
        collector_close();
    }
    free(times);
    return 0;
}
