#define _GNU_SOURCE
#include "sampling.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"

#define GUARD_Z 3.5

struct side {
    struct replay *replay;
    double *times;  /* less floor, one per pair */
    double *excess; /* the grader's clock less the device's stamps, one per pair */
    double step;    /* of the dither, in ticks of the clock */
    size_t taken, voids, disturbs;
};

struct sampler {
    const struct sampling_request *request;
    struct side candidate, baseline;
    double *ratios, *scratch;
    size_t n, room;
    unsigned dropped; /* pairs that may have been disturbed */
    double floor_ns;
    uint64_t last[2]; /* seeds of the candidate's last sample */
    bool last_judged;
    uint64_t chosen; /* bit i: pair i < SAMPLING_MIN_SAMPLES is judged */
};

static double median(const struct sampler *s, const double *values, size_t n)
{
    memcpy(s->scratch, values, n * sizeof *values);
    statistics_sort(s->scratch, n);
    return statistics_quantile(s->scratch, n, 0.5);
}

/*
 * A stamp is the last tick of the device's clock, so that an interval is known to a tick only: 32 ns of a kernel of 4 us are
 * 0.8 %.  The true one lies anywhere in the tick, so each sample is moved to another place in it, evenly spread (Roberts'
 * sequence, "The Unreasonable Effectiveness of Quasirandom Sequences", 2018); a median of many is then finer than a tick.  The
 * floor is treated alike, so nothing is added.
 */
#define DITHER_CANDIDATE 0.7548776662466927
#define DITHER_BASELINE 0.5698402909980532

static double dither(const struct sampler *s, struct side *side)
{
    double at = side->step * (double)++side->taken;
    return (at - floor(at)) * s->request->resolution_ns;
}

int sampling_blame_baseline(const struct finding *inner, struct finding *f)
{
    if (inner->verdict == KGRADE_INFRASTRUCTURE_ERROR) {
        *f = *inner;
        return -1;
    }
    return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "baseline_failed",
                       "Run `kgrade check-task` on the task.", "The task's baseline failed: %s",
                       inner->reason.message);
}

/* The baseline's replayer alone is asked: what a candidate left in its own must not pass for the cost of measuring. */
static int measure_floor(struct sampler *s, struct side *side, struct finding *f)
{
    size_t n = 0;
    for (size_t tries = 0; n < SAMPLING_FLOOR_SAMPLES; tries++) {
        struct finding inner = {.log = NULL};
        struct replay_time t;
        if (tries > SAMPLING_FLOOR_TRIES)
            return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "floor_failed",
                               "Try again when the machine is less busy.",
                               "The floor of the measurement could not be taken.");
        if (replay_run(side->replay, true, &t, &inner))
            return sampling_blame_baseline(&inner, f);
        if (t.is_void)
            continue;
        side->times[n] = t.ns + dither(s, side);
        n++;
    }
    s->floor_ns = median(s, side->times, n);
    return 0;
}

/* One sample that is not void; its seeds are returned for the judge. */
static int take(const struct sampler *s, struct side *side, double *ret_ns, double *ret_excess,
                uint64_t seeds[2], struct finding *f)
{
    for (size_t tries = 0; tries < SAMPLING_MAX_VOIDS; tries++) {
        struct replay_time t;
        seeds[0] = io_random_u64();
        seeds[1] = io_random_u64();
        if (replay_prepare(side->replay, seeds[0], seeds[1], s->request->cold, f) ||
            replay_run(side->replay, false, &t, f))
            return -1;
        if (!t.is_void) {
            *ret_ns = t.ns + dither(s, side) - s->floor_ns;
            *ret_excess = t.wall_ns - t.ns;
            return 0;
        }
        side->voids++;
        side->disturbs += t.left_ns > SAMPLING_DISTURBED_NS;
    }
    return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "samples_void",
                       "Try again when the machine is less busy.", "%u samples in a row were void.",
                       SAMPLING_MAX_VOIDS);
}

static bool is_chosen(const struct sampler *s, size_t pair)
{
    if (pair < SAMPLING_MIN_SAMPLES)
        return s->chosen >> pair & 1;
    return io_random_u64() % SAMPLING_JUDGE_ONE_IN == 0;
}

static int judge_last(struct sampler *s, struct sampling *ret, struct finding *f)
{
    s->last_judged = true;
    if (judge_snapshot(s->request->judge, s->request->task, s->request->task_case, s->last[0],
                       s->last[1], &ret->snapshots[ret->n_snapshots], f))
        return -1;
    ret->n_snapshots++;
    return 0;
}

/* One place is kept for the very last sample: nobody can know which one that will be. */
static int take_candidate(struct sampler *s, struct sampling *ret, struct finding *f)
{
    struct side *c = &s->candidate;
    s->last_judged = false;
    if (take(s, c, &c->times[s->n], &c->excess[s->n], s->last, f))
        return -1;
    if (ret->n_snapshots >= SAMPLING_MAX_JUDGED - 1 || !is_chosen(s, s->n))
        return 0;
    return judge_last(s, ret, f);
}

static int take_baseline(struct sampler *s, struct finding *f)
{
    uint64_t seeds[2];
    struct side *b = &s->baseline;
    struct finding inner = {.log = NULL};
    if (take(s, b, &b->times[s->n], &b->excess[s->n], seeds, &inner))
        return sampling_blame_baseline(&inner, f);
    return 0;
}

static int take_pair(struct sampler *s, bool candidate_first, struct sampling *ret,
                     struct finding *f)
{
    size_t disturbs = s->candidate.disturbs;
    if (candidate_first && take_candidate(s, ret, f))
        return -1;
    if (take_baseline(s, f))
        return -1;
    if (!candidate_first && take_candidate(s, ret, f))
        return -1;
    double c = s->candidate.times[s->n], b = s->baseline.times[s->n];
    s->ratios[s->n] = c > 0 && b > 0 ? b / c : 0;
    if (s->candidate.disturbs == disturbs) {
        s->n++;
        return 0;
    }
    /* An earlier replay of the candidate had left work, beside which the baseline may have been timed, in this pair or in the one
     * before. */
    s->n -= s->n > 0;
    if (++s->dropped <= SAMPLING_MAX_DROPPED)
        return 0;
    finding_set(
        f, KGRADE_UNRESOLVED, "too_noisy",
        "Grade again when the machine is less busy; make sure that kernels end when they are done.",
        "Before %u samples of the candidate its process had been at work.", s->dropped);
    f->retryable = true;
    return -1;
}

static void choose_judged(struct sampler *s)
{
    for (unsigned n = 0; n < SAMPLING_JUDGED_EARLY;) {
        uint64_t pair = 1ull << (io_random_u64() % SAMPLING_MIN_SAMPLES);
        n += !(s->chosen & pair);
        s->chosen |= pair;
    }
}

static void interval(const struct sampler *s, struct sampling *ret)
{
    memcpy(s->scratch, s->ratios, s->n * sizeof *s->ratios);
    statistics_sort(s->scratch, s->n);
    statistics_centre(s->scratch, s->n, 1.96, &ret->speedup, &ret->low, &ret->high);
}

static bool narrow_enough(const struct sampling *ret, double precision)
{
    return ret->speedup > 0 && (ret->high - ret->low) / 2 <= precision * ret->speedup;
}

/* The very last sample is judged.  Where both sides share an arena, the baseline may have written over what is known to be
 * the last one only now: one more pair ends with the candidate. */
static int close_samples(struct sampler *s, struct sampling *ret, struct finding *f)
{
    if (!s->last_judged &&
        (take_pair(s, false, ret, f) || (!s->last_judged && judge_last(s, ret, f))))
        return -1;
    interval(s, ret);
    return 0;
}

static int sample_until_done(struct sampler *s, struct sampling *ret, struct finding *f)
{
    const kgrade_options *o = s->request->options;
    double precision = o->precision > 0 ? o->precision : SAMPLING_DEFAULT_PRECISION;
    double seconds = o->max_seconds > 0 ? o->max_seconds : SAMPLING_DEFAULT_SECONDS;
    uint64_t end = io_now() + (uint64_t)(seconds * (double)IO_NS_PER_S);
    ret->stopped = "samples";
    while (s->n < s->room) {
        /* Drawn anew, so that neither side always runs on what the other left behind. */
        if (take_pair(s, io_random_u64() & 1, ret, f))
            return -1;
        if (s->n < SAMPLING_MIN_SAMPLES)
            continue;
        if (s->n % 10 == 0) {
            interval(s, ret);
            if (narrow_enough(ret, precision)) {
                ret->stopped = "precision";
                break;
            }
        }
        if (io_now() > end) {
            ret->stopped = "time";
            break;
        }
    }
    return close_samples(s, ret, f);
}

void sampling_keep(const double *samples, size_t n, struct series *ret)
{
    ret->n_kept = n < SAMPLING_MAX_KEPT ? n : SAMPLING_MAX_KEPT;
    for (size_t i = 0; i < ret->n_kept; i++)
        ret->kept[i] = samples[i * n / ret->n_kept];
}

static void summarise(const struct sampler *s, const struct side *side, struct series *ret)
{
    memcpy(s->scratch, side->times, s->n * sizeof *side->times);
    statistics_sort(s->scratch, s->n);
    statistics_summarise(s->scratch, s->n, &ret->time);
    ret->floor_ns = s->floor_ns;
    ret->voids = side->voids;
    sampling_keep(side->times, s->n, ret);
}

void sampling_doubt(struct sampling *ret, kgrade_verdict verdict, const char *code,
                    const char *format, ...)
{
    va_list ap;
    ret->verdict = verdict;
    snprintf(ret->code, sizeof ret->code, "%s", code);
    va_start(ap, format);
    vsnprintf(ret->message, sizeof ret->message, format, ap);
    va_end(ap);
}

/*
 * The guard.  What the grader's clock shows beyond the device's stamps is the cost of a request.  The baseline is the
 * control: its code is trusted, it is asked in the same minute, and a busy machine slows its requests just as much.  Only when the
 * pairs leave no doubt (an interval of the median difference at three and a half standard errors) is there
 * something that the candidate's stamps do not show.  *ret_least is that many ns, 0 for none, *ret_most how
 * many there can be.
 */
static void hidden_ns(const struct sampler *s, double *ret_least, double *ret_most)
{
    double low, high;
    for (size_t i = 0; i < s->n; i++)
        s->scratch[i] = s->candidate.excess[i] - s->baseline.excess[i];
    statistics_sort(s->scratch, s->n);
    statistics_median_interval(s->scratch, s->n, GUARD_Z, &low, &high);
    *ret_least = low > 0 ? low : 0;
    *ret_most = high > 0 ? high : 0;
}

/* A kernel whose samples are now one thing, now another, while the machine is quiet, does not do the same work each time.
 * A CPU gives a kernel now more of its cores, now fewer: there it says nothing. */
static bool is_split(const struct sampler *s, double *ret_lower, double *ret_upper)
{
    memcpy(s->scratch, s->baseline.times, s->n * sizeof *s->scratch);
    statistics_sort(s->scratch, s->n);
    if (statistics_spread(s->scratch, s->n) >= STATISTICS_TIGHT)
        return false;
    memcpy(s->scratch, s->candidate.times, s->n * sizeof *s->scratch);
    statistics_sort(s->scratch, s->n);
    return statistics_two_groups(s->scratch, s->n, ret_lower, ret_upper);
}

/* Whether the figures can stand at all. */
static void check(const struct sampler *s, struct sampling *ret)
{
    double device = ret->candidate.time.median, hidden, possible, lower, upper;
    hidden_ns(s, &hidden, &possible);
    if (device < 2 * s->request->resolution_ns || ret->speedup <= 0)
        sampling_doubt(ret, KGRADE_UNRESOLVED, "below_resolution",
                       "The kernel takes less time than the clock resolves (%.0f ns).",
                       s->request->resolution_ns);
    else if (hidden > fmax(SAMPLING_GUARD_RELATIVE * device, SAMPLING_GUARD_NS))
        sampling_doubt(
            ret, KGRADE_SUSPECT, "clocks_disagree",
            "The device's stamps say %.0f ns for a replay; the grader's own clock says %.0f ns.",
            device, device + hidden);
    else if (!s->request->bendable && is_split(s, &lower, &upper))
        sampling_doubt(ret, KGRADE_SUSPECT, "two_clusters",
                       "The samples fall into two groups, around %.0f ns and around %.0f ns, while "
                       "the baseline's do not.",
                       lower, upper);
    else if (s->request->bendable &&
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

static int run(struct sampler *s, struct sampling *ret, struct finding *f)
{
    uint64_t seeds[2];
    double ns, excess;
    choose_judged(s);
    if (measure_floor(s, &s->baseline, f))
        return -1;
    for (unsigned i = 0; i < SAMPLING_WARMUPS; i++) {
        struct finding inner = {.log = NULL};
        if (take(s, &s->candidate, &ns, &excess, seeds, f))
            return -1;
        if (take(s, &s->baseline, &ns, &excess, seeds, &inner))
            return sampling_blame_baseline(&inner, f);
    }
    s->candidate.voids = s->baseline.voids = 0;
    if (sample_until_done(s, ret, f))
        return -1;
    summarise(s, &s->candidate, &ret->candidate);
    summarise(s, &s->baseline, &ret->baseline);
    check(s, ret);
    return 0;
}

int sampling_run(const struct sampling_request *request, struct sampling *ret, struct finding *f)
{
    size_t room =
        request->options->max_samples ? request->options->max_samples : SAMPLING_DEFAULT_SAMPLES;
    if (room < SAMPLING_MIN_SAMPLES)
        room = SAMPLING_MIN_SAMPLES;
    /* One more pair closes. */
    size_t each = room + 1 > SAMPLING_FLOOR_SAMPLES ? room + 1 : SAMPLING_FLOOR_SAMPLES;
    cleanup_free double *memory = calloc(6 * each, sizeof *memory);
    if (!memory)
        return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "out_of_memory", NULL,
                           "No memory for samples.");
    struct sampler s = {.request = request,
                        .candidate = {.replay = request->candidate,
                                      .step = DITHER_CANDIDATE,
                                      .times = memory,
                                      .excess = memory + each},
                        .baseline = {.replay = request->baseline,
                                     .step = DITHER_BASELINE,
                                     .times = memory + 2 * each,
                                     .excess = memory + 3 * each},
                        .ratios = memory + 4 * each,
                        .scratch = memory + 5 * each,
                        .room = room};
    *ret = (struct sampling){.verdict = KGRADE_ACCEPTED};
    return run(&s, ret, f);
}
