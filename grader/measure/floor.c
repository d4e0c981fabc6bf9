#include "floor.h"

#include <math.h>

#include "sampling.h"
#include "statistics.h"

double dither_next(struct dither *dither, double resolution_ns)
{
    double at = dither->step * (double)++dither->taken;
    return (at - floor(at)) * resolution_ns;
}

/* One that is not void. */
static int take(struct replay *replay, struct dither *dither, double resolution_ns, size_t *tries,
                double *ret, struct finding *f)
{
    struct finding inner = {.log = NULL};
    struct replay_time t;
    do {
        if (++*tries > FLOOR_TRIES)
            return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "floor_failed",
                               "Try again when the machine is less busy.",
                               "The floor of the measurement could not be taken.");
        if (replay_run(replay, true, &t, &inner))
            return sampling_blame_baseline(&inner, f);
    } while (t.is_void);
    *ret = t.ns + dither_next(dither, resolution_ns);
    return 0;
}

static double median(double times[FLOOR_SAMPLES])
{
    statistics_sort(times, FLOOR_SAMPLES);
    return statistics_quantile(times, FLOOR_SAMPLES, 0.5);
}

static int take_some(struct replay *replay, struct dither *dither, double resolution_ns,
                     size_t *tries, double *times, size_t n, struct finding *f)
{
    for (size_t i = 0; i < n; i++)
        if (take(replay, dither, resolution_ns, tries, &times[i], f))
            return -1;
    return 0;
}

int floor_take(struct replay *baseline, struct dither *dither, double resolution_ns, double *ret,
               struct finding *f)
{
    double times[FLOOR_SAMPLES];
    size_t tries = 0;
    if (take_some(baseline, dither, resolution_ns, &tries, times, FLOOR_SAMPLES, f))
        return -1;
    *ret = median(times);
    return 0;
}

/* A sample is taken right after what prepared it, in the same process.  So are these, but the first of each turn. */
int floor_difference(struct replay *candidate, struct replay *baseline, double resolution_ns,
                     double *ret, struct finding *f)
{
    struct dither ours = DITHER_CANDIDATE, theirs = DITHER_BASELINE;
    double candidates[FLOOR_SAMPLES], baselines[FLOOR_SAMPLES];
    const size_t n = FLOOR_SAMPLES / FLOOR_TURNS;
    size_t tries[2] = {0, 0};
    for (size_t at = 0; at < FLOOR_SAMPLES; at += n)
        if (take_some(candidate, &ours, resolution_ns, &tries[0], candidates + at, n, f) ||
            take_some(baseline, &theirs, resolution_ns, &tries[1], baselines + at, n, f))
            return -1;
    *ret = median(candidates) - median(baselines);
    return 0;
}
