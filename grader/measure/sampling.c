#define _GNU_SOURCE
#include "sampling.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../sandbox/base/fail.h"
#include "floor.h"
#include "pairs.h"

struct side {
    struct replay *replay;
    double *times, *excess; /* of the pairs */
    double floor_ns;
    struct dither dither;
    size_t voids, disturbs;
};

struct sampler {
    const struct sampling_request *request;
    struct side candidate, baseline;
    struct pairs *pairs;
    size_t least, room; /* pairs before the stop rule is asked, and at most */
    unsigned most_judged, judged_early;
    unsigned dropped; /* pairs that may have been disturbed */
    uint64_t last[2]; /* seeds of the candidate's last sample */
    size_t last_at;   /* its place in the pairs */
    bool last_judged;
    uint64_t chosen; /* bit i: pair i < least is judged */
};

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
            *ret_ns = t.ns + dither_next(&side->dither, s->request->resolution_ns) - side->floor_ns;
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
    if (pair < s->least)
        return s->chosen >> pair & 1;
    return io_random_u64() % SAMPLING_JUDGE_ONE_IN == 0;
}

static int keep(const struct sampling_request *r, const uint64_t seeds[2], struct sampling *ret,
                struct finding *f)
{
    return judge_snapshot(r->judge, r->task, r->task_case, seeds[0], seeds[1],
                          &ret->snapshots[ret->n_snapshots], f);
}

int sampling_keep_for_judge(const struct sampling_request *r, const uint64_t seeds[2],
                            struct sampling *ret, struct finding *f)
{
    if (keep(r, seeds, ret, f)) {
        if (!r->decide || !ret->n_snapshots || strcmp(f->reason.code, "judge_memory") != 0)
            return -1;
        finding_free(f);
        *f = (struct finding){.log = NULL};
        if (r->decide(r->data, ret->snapshots, ret->n_snapshots, f))
            return -1;
        ret->n_snapshots = 0;
        if (keep(r, seeds, ret, f))
            return -1;
    }
    ret->n_snapshots++;
    ret->n_judged++;
    return 0;
}

static int judge_last(struct sampler *s, struct sampling *ret, struct finding *f)
{
    s->last_judged = s->pairs->judged[s->last_at] = true;
    return sampling_keep_for_judge(s->request, s->last, ret, f);
}

/* One place is kept for the very last sample: nobody can know which one that will be. */
static int take_candidate(struct sampler *s, struct sampling *ret, struct finding *f)
{
    struct side *c = &s->candidate;
    size_t n = s->pairs->n;
    s->last_at = n;
    s->last_judged = s->pairs->judged[n] = false;
    if (take(s, c, &c->times[n], &c->excess[n], s->last, f))
        return -1;
    if (ret->n_judged >= s->most_judged - 1 || !is_chosen(s, n))
        return 0;
    return judge_last(s, ret, f);
}

static int take_baseline(struct sampler *s, struct finding *f)
{
    uint64_t seeds[2];
    struct side *b = &s->baseline;
    size_t n = s->pairs->n;
    struct finding inner = {.log = NULL};
    if (take(s, b, &b->times[n], &b->excess[n], seeds, &inner))
        return sampling_blame_baseline(&inner, f);
    return 0;
}

static int take_pair(struct sampler *s, bool candidate_first, struct sampling *ret,
                     struct finding *f)
{
    size_t disturbs = s->candidate.disturbs, *n = &s->pairs->n;
    if (candidate_first && take_candidate(s, ret, f))
        return -1;
    if (take_baseline(s, f))
        return -1;
    if (!candidate_first && take_candidate(s, ret, f))
        return -1;
    double c = s->candidate.times[*n], b = s->baseline.times[*n];
    s->pairs->ratios[*n] = c > 0 && b > 0 ? b / c : 0;
    if (s->candidate.disturbs == disturbs) {
        ++*n;
        return 0;
    }
    /* An earlier replay of the candidate had left work, beside which the baseline may have been timed, in this pair or in the one
     * before. */
    *n -= *n > 0;
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
    for (unsigned n = 0; n < s->judged_early;) {
        uint64_t pair = 1ull << (io_random_u64() % s->least);
        n += !(s->chosen & pair);
        s->chosen |= pair;
    }
}

static bool is_narrow(double centre, double low, double high, double precision)
{
    return centre > 0 && (high - low) / 2 <= precision * centre;
}

/* The speedup, and the candidate's time, which what disturbs both sides of a pair does not drop out of.  Where several pairs of
 * processes are to share the samples, these differ by more. */
static bool narrow_enough(const struct sampler *s, const struct sampling *ret, double precision)
{
    double centre, low, high, tick = s->request->resolution_ns;
    if (!is_narrow(ret->speedup, ret->low, ret->high, precision))
        return false;
    if (s->request->parts > 1)
        return true;
    pairs_time(s->pairs, &centre, &low, &high);
    return is_narrow(centre, low, high, SAMPLING_TIME_PART * precision) || high - low <= 2 * tick;
}

/* The very last sample is judged.  Where both sides share an arena, the baseline may have written over what is known to be
 * the last one only now: one more pair ends with the candidate. */
static int close_samples(struct sampler *s, struct sampling *ret, struct finding *f)
{
    if (!s->last_judged &&
        (take_pair(s, false, ret, f) || (!s->last_judged && judge_last(s, ret, f))))
        return -1;
    pairs_interval(s->pairs, ret);
    return 0;
}

static int sample_until_done(struct sampler *s, struct sampling *ret, struct finding *f)
{
    const kgrade_options *o = s->request->options;
    double precision = o->precision > 0 ? o->precision : SAMPLING_DEFAULT_PRECISION;
    double seconds = o->max_seconds > 0 ? o->max_seconds : SAMPLING_DEFAULT_SECONDS;
    const struct pairs *p = s->pairs;
    uint64_t end = io_now() + (uint64_t)(seconds * (double)IO_NS_PER_S);
    ret->stopped = "samples";
    while (p->n < s->room) {
        /* Drawn anew, so that neither side always runs on what the other left behind. */
        if (take_pair(s, io_random_u64() & 1, ret, f))
            return -1;
        if (p->n < s->least)
            continue;
        if (p->n % 10 == 0) {
            pairs_interval(p, ret);
            if (narrow_enough(s, ret, precision)) {
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

static int take_floors(struct sampler *s, struct finding *f)
{
    struct side *c = &s->candidate, *b = &s->baseline;
    if (floor_take(b->replay, &b->dither, s->request->resolution_ns, &b->floor_ns, f))
        return -1;
    c->floor_ns = b->floor_ns + s->request->floor_difference_ns;
    s->pairs->candidate_floor_ns = c->floor_ns;
    s->pairs->baseline_floor_ns = b->floor_ns;
    return 0;
}

static int run(struct sampler *s, struct sampling *ret, struct finding *f)
{
    uint64_t seeds[2];
    double ns, excess;
    choose_judged(s);
    if (take_floors(s, f))
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
    s->pairs->candidate_voids = s->candidate.voids;
    s->pairs->baseline_voids = s->baseline.voids;
    pairs_conclude(s->pairs, s->request, ret);
    return 0;
}

int sampling_take(const struct sampling_request *request, struct pairs *pairs, struct sampling *ret,
                  struct finding *f)
{
    unsigned parts = request->parts ? request->parts : 1;
    size_t least = SAMPLING_MIN_SAMPLES / parts, room = request->options->max_samples
                                                            ? request->options->max_samples
                                                            : SAMPLING_DEFAULT_SAMPLES;
    if (room < least)
        room = least;
    /* One more pair closes. */
    if (pairs_make(room + 1, pairs, f))
        return -1;
    struct sampler s = {.request = request,
                        .candidate = {.replay = request->candidate,
                                      .dither = DITHER_CANDIDATE,
                                      .times = pairs->candidate,
                                      .excess = pairs->candidate_excess},
                        .baseline = {.replay = request->baseline,
                                     .dither = DITHER_BASELINE,
                                     .times = pairs->baseline,
                                     .excess = pairs->baseline_excess},
                        .pairs = pairs,
                        .least = least,
                        .room = room,
                        .most_judged = SAMPLING_MAX_JUDGED / parts,
                        .judged_early = SAMPLING_JUDGED_EARLY / parts};
    *ret = (struct sampling){.verdict = KGRADE_ACCEPTED};
    return run(&s, ret, f);
}

int sampling_run(const struct sampling_request *request, struct sampling *ret, struct finding *f)
{
    cleanup_pairs struct pairs pairs = PAIRS_NONE;
    return sampling_take(request, &pairs, ret, f);
}
