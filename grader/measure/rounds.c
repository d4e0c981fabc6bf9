#define _GNU_SOURCE
#include "rounds.h"

#include <math.h>
#include <string.h>

void rounds_free(struct rounds *r)
{
    for (size_t i = 0; i < SAMPLING_MAX_ROUNDS; i++)
        pairs_free(&r->rounds[i].pairs);
    r->n = 0;
}

/* A round has its part of the samples that the planned ones need together for the precision that is wanted. */
static kgrade_options options_of(const struct sampling_request *request)
{
    kgrade_options o = *request->options;
    double precision = o.precision > 0 ? o.precision : SAMPLING_DEFAULT_PRECISION;
    double seconds = o.max_seconds > 0 ? o.max_seconds : SAMPLING_DEFAULT_SECONDS;
    uint32_t samples = o.max_samples ? o.max_samples : SAMPLING_DEFAULT_SAMPLES;
    o.precision = precision * sqrt(ROUNDS_PLANNED);
    o.max_seconds = seconds / SAMPLING_MAX_ROUNDS;
    o.max_samples = samples > SAMPLING_MAX_ROUNDS ? samples / SAMPLING_MAX_ROUNDS : 1;
    return o;
}

/* Their intervals overlap, or nearly so. */
static bool agree(const struct round *x, const struct round *y)
{
    const struct sampling *a = &x->sampling, *b = &y->sampling;
    return a->low <= b->high * (1 + ROUNDS_SLACK) && b->low <= a->high * (1 + ROUNDS_SLACK);
}

/* The one in the middle: of two the lower. */
static const struct round *middle(const struct rounds *r)
{
    const struct round *sorted[SAMPLING_MAX_ROUNDS] = {NULL};
    for (size_t i = 0; i < r->n; i++) {
        size_t at = i;
        for (; at > 0 && sorted[at - 1]->sampling.speedup > r->rounds[i].sampling.speedup; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = &r->rounds[i];
    }
    return sorted[(r->n - 1) / 2];
}

/* Those that agree with the one in the middle count; by itself it stands for nothing. */
static size_t count(const struct rounds *r, bool counts[SAMPLING_MAX_ROUNDS])
{
    const struct round *m = middle(r);
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += counts[i] = agree(&r->rounds[i], m);
    return n;
}

/* What stopped a round before it was precise stopped the whole. */
static const char *stopped(const struct rounds *r, const bool *counts)
{
    static const char *const reasons[] = {"time", "samples"};
    for (size_t k = 0; k < sizeof reasons / sizeof reasons[0]; k++)
        for (size_t i = 0; i < r->n; i++)
            if (counts[i] && !strcmp(r->rounds[i].sampling.stopped, reasons[k]))
                return reasons[k];
    return "precision";
}

static void doubt(const struct rounds *r, struct sampling *ret)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < r->n; i++) {
        least = fmin(least, r->rounds[i].sampling.speedup);
        most = fmax(most, r->rounds[i].sampling.speedup);
    }
    sampling_doubt(ret, KGRADE_UNRESOLVED, "too_noisy",
                   "The speedup differs from one pair of processes to the next: between %.3f and "
                   "%.3f in %zu of them.",
                   least, most, r->n);
}

static int conclude(const struct rounds *r, const struct sampling_request *request,
                    struct sampling *ret, struct finding *f)
{
    cleanup_pairs struct pairs pooled = PAIRS_NONE;
    bool counts[SAMPLING_MAX_ROUNDS];
    size_t n = count(r, counts), room = 0;
    const struct sampling *last = &r->rounds[r->n - 1].sampling;
    *ret = (struct sampling){.verdict = KGRADE_ACCEPTED,
                             .n_rounds = r->n,
                             .n_snapshots = last->n_snapshots,
                             .n_judged = last->n_judged};
    memcpy(ret->snapshots, last->snapshots, sizeof ret->snapshots);
    for (size_t i = 0; i < r->n; i++) {
        const struct sampling *s = &r->rounds[i].sampling;
        ret->rounds[i] = (struct sampling_round){s->speedup, s->low, s->high, counts[i]};
        room += r->rounds[i].pairs.n;
    }
    if (pairs_make(room, &pooled, f))
        return -1;
    for (size_t i = 0; i < r->n; i++)
        if (counts[i])
            pairs_append(&pooled, &r->rounds[i].pairs);
    pairs_interval(&pooled, ret);
    for (size_t i = 0; i < r->n; i++)
        if (counts[i]) {
            ret->low = fmin(ret->low, r->rounds[i].sampling.speedup);
            ret->high = fmax(ret->high, r->rounds[i].sampling.speedup);
        }
    ret->stopped = stopped(r, counts);
    pairs_conclude(&pooled, request, ret);
    if (r->n > 1 && n < 2)
        doubt(r, ret);
    return 0;
}

int rounds_sample(struct rounds *r, const struct sampling_request *request, struct sampling *ret,
                  struct finding *f)
{
    struct round *round = &r->rounds[r->n];
    const kgrade_options options = options_of(request);
    struct sampling_request part = *request;
    part.options = &options;
    part.parts = ROUNDS_PLANNED;
    if (sampling_take(&part, &round->pairs, &round->sampling, f))
        return -1;
    r->n++;
    return conclude(r, request, ret, f);
}

bool rounds_want_more(const struct rounds *r, const struct sampling *so_far)
{
    return r->n < ROUNDS_PLANNED ||
           (r->n < SAMPLING_MAX_ROUNDS && !strcmp(so_far->code, "too_noisy"));
}
