#define _GNU_SOURCE
#include "pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_Z 3.5
/* Samples of each sort before those that were judged are held against the others, and how far apart they are then. */
#define JUDGED_LEAST 6u
#define JUDGED_APART 1.25

int pairs_make(size_t room, struct pairs *ret, struct finding *f)
{
    double *memory = calloc(6 * room, sizeof *memory);
    bool *judged = calloc(room, sizeof *judged);
    if (!memory || !judged) {
        free(memory);
        free(judged);
        return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "out_of_memory", NULL,
                           "No memory for samples.");
    }
    *ret = (struct pairs){.room = room,
                          .candidate = memory,
                          .candidate_excess = memory + room,
                          .baseline = memory + 2 * room,
                          .baseline_excess = memory + 3 * room,
                          .ratios = memory + 4 * room,
                          .scratch = memory + 5 * room,
                          .judged = judged,
                          .memory = memory};
    return 0;
}

void pairs_free(struct pairs *p)
{
    free(p->memory);
    free(p->judged);
    *p = (struct pairs)PAIRS_NONE;
}

void pairs_append(struct pairs *to, const struct pairs *from)
{
    size_t bytes = from->n * sizeof *from->ratios;
    memcpy(to->candidate + to->n, from->candidate, bytes);
    memcpy(to->baseline + to->n, from->baseline, bytes);
    memcpy(to->candidate_excess + to->n, from->candidate_excess, bytes);
    memcpy(to->baseline_excess + to->n, from->baseline_excess, bytes);
    memcpy(to->ratios + to->n, from->ratios, bytes);
    memcpy(to->judged + to->n, from->judged, from->n * sizeof *from->judged);
    to->n += from->n;
    to->candidate_voids += from->candidate_voids;
    to->baseline_voids += from->baseline_voids;
    to->candidate_floor_ns = from->candidate_floor_ns;
    to->baseline_floor_ns = from->baseline_floor_ns;
}

static void sort_into_scratch(const struct pairs *p, const double *values, size_t n)
{
    memcpy(p->scratch, values, n * sizeof *values);
    statistics_sort(p->scratch, n);
}

void pairs_interval(const struct pairs *p, struct sampling *ret)
{
    sort_into_scratch(p, p->ratios, p->n);
    statistics_centre(p->scratch, p->n, 1.96, &ret->speedup, &ret->low, &ret->high);
}

void pairs_time(const struct pairs *p, double *ret_centre, double *ret_low, double *ret_high)
{
    sort_into_scratch(p, p->candidate, p->n);
    statistics_centre(p->scratch, p->n, 1.96, ret_centre, ret_low, ret_high);
}

void sampling_keep(const double *samples, size_t n, struct series *ret)
{
    ret->n_kept = n < SAMPLING_MAX_KEPT ? n : SAMPLING_MAX_KEPT;
    for (size_t i = 0; i < ret->n_kept; i++)
        ret->kept[i] = samples[i * n / ret->n_kept];
}

static void summarise(const struct pairs *p, const double *times, double floor_ns, size_t voids,
                      struct series *ret)
{
    sort_into_scratch(p, times, p->n);
    statistics_summarise(p->scratch, p->n, &ret->time);
    ret->floor_ns = floor_ns;
    ret->voids = voids;
    sampling_keep(times, p->n, ret);
}

/*
 * The guard.  What the grader's clock shows beyond the device's stamps is the cost of a request.  The baseline is the
 * control: its code is trusted, it is asked in the same minute, and a busy machine slows its requests just as much.  Only when the
 * pairs leave no doubt (an interval of the median difference at three and a half standard errors) is there
 * something that the candidate's stamps do not show.  *ret_least is that many ns, 0 for none, *ret_most how
 * many there can be.
 */
static void hidden_ns(const struct pairs *p, double *ret_least, double *ret_most)
{
    double low, high;
    for (size_t i = 0; i < p->n; i++)
        p->scratch[i] = p->candidate_excess[i] - p->baseline_excess[i];
    statistics_sort(p->scratch, p->n);
    statistics_median_interval(p->scratch, p->n, GUARD_Z, &low, &high);
    *ret_least = low > 0 ? low : 0;
    *ret_most = high > 0 ? high : 0;
}

/* A kernel whose samples are now one thing, now another, while the machine is quiet, does not do the same work each time.
 * A CPU gives a kernel now more of its cores, now fewer: there it says nothing. */
static bool is_split(const struct pairs *p, double *ret_lower, double *ret_upper)
{
    sort_into_scratch(p, p->baseline, p->n);
    if (statistics_spread(p->scratch, p->n) >= STATISTICS_TIGHT)
        return false;
    sort_into_scratch(p, p->candidate, p->n);
    return statistics_two_groups(p->scratch, p->n, ret_lower, ret_upper);
}

/* The values of those samples that were judged, or of the others, in order; how many. */
static size_t sort_some(const struct pairs *p, const double *values, bool judged)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->judged[i] == judged)
            p->scratch[n++] = values[i];
    statistics_sort(p->scratch, n);
    return n;
}

static bool range_of(const struct pairs *p, const double *values, bool judged, double *ret_low,
                     double *ret_high)
{
    size_t n = sort_some(p, values, judged);
    if (n < JUDGED_LEAST)
        return false;
    statistics_median_interval(p->scratch, n, GUARD_Z, ret_low, ret_high);
    return true;
}

static bool are_apart(const struct pairs *p, const double *values)
{
    double low, high, others_low, others_high;
    return range_of(p, values, true, &low, &high) &&
           range_of(p, values, false, &others_low, &others_high) &&
           (low > others_high * JUDGED_APART || others_low > high * JUDGED_APART);
}

/* Which samples will be judged only the grader knows, so that they are like the others, unless somebody has found out.  Their
 * times must be apart, which a drifting clock can bring about, and their ratios to the baseline's next to them, which
 * the judge's work in between can. */
static bool judged_differ(const struct pairs *p, double *ret_judged_ns, double *ret_others_ns)
{
    if (!are_apart(p, p->candidate) || !are_apart(p, p->ratios))
        return false;
    *ret_judged_ns = statistics_quantile(p->scratch, sort_some(p, p->candidate, true), 0.5);
    *ret_others_ns = statistics_quantile(p->scratch, sort_some(p, p->candidate, false), 0.5);
    return true;
}

/* Whether the figures can stand at all. */
static void check(const struct pairs *p, const struct sampling_request *request,
                  struct sampling *ret)
{
    double device = ret->candidate.time.median, hidden, possible, lower, upper;
    hidden_ns(p, &hidden, &possible);
    if (device < 2 * request->resolution_ns || ret->speedup <= 0)
        sampling_doubt(ret, KGRADE_UNRESOLVED, "below_resolution",
                       "The kernel takes less time than the clock resolves (%.0f ns).",
                       request->resolution_ns);
    else if (hidden > fmax(SAMPLING_GUARD_RELATIVE * device, SAMPLING_GUARD_NS))
        sampling_doubt(
            ret, KGRADE_SUSPECT, "clocks_disagree",
            "The device's stamps say %.0f ns for a replay; the grader's own clock says %.0f ns.",
            device, device + hidden);
    else if (!request->bendable && is_split(p, &lower, &upper))
        sampling_doubt(ret, KGRADE_SUSPECT, "two_clusters",
                       "The samples fall into two groups, around %.0f ns and around %.0f ns, while "
                       "the baseline's do not.",
                       lower, upper);
    else if (judged_differ(p, &lower, &upper))
        sampling_doubt(ret, KGRADE_SUSPECT, "judged_differ",
                       "The samples that were judged took %.0f ns, the others %.0f ns.", lower,
                       upper);
    else if (request->bendable &&
             possible > fmax(SAMPLING_BLIND_RELATIVE * device, SAMPLING_BLIND_NS))
        sampling_doubt(
            ret, KGRADE_UNRESOLVED, "too_noisy",
            "The machine is too busy to check the device's stamps: they say %.0f ns, the "
            "grader's own clock up to %.0f ns.",
            device, device + possible);
    else if (ret->high - ret->low > 2 * SAMPLING_NOISE_LIMIT * ret->speedup)
        sampling_doubt(ret, KGRADE_UNRESOLVED, "too_noisy",
                       "The speedup is only known to lie between %.3f and %.3f.", ret->low,
                       ret->high);
}

void pairs_conclude(const struct pairs *p, const struct sampling_request *request,
                    struct sampling *ret)
{
    summarise(p, p->candidate, p->candidate_floor_ns, p->candidate_voids, &ret->candidate);
    summarise(p, p->baseline, p->baseline_floor_ns, p->baseline_voids, &ret->baseline);
    check(p, request, ret);
}
