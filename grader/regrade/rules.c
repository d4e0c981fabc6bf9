#define _GNU_SOURCE
#include "rules.h"

#include <math.h>
#include <string.h>

enum part { VALUE, LOW, HIGH };

static const struct rule rules[] = {
    {"last", RULE_LAST, RULE_SECONDS, true, false, "the time of the last benchmark case"},
    {"mean", RULE_MEAN, RULE_SECONDS, true, false, "the mean time over the benchmark cases"},
    {"geom", RULE_GEOMETRIC, RULE_SECONDS, true, false,
     "the geometric mean of the times of the benchmark cases"},
    {"fast_p", RULE_GEOMETRIC, RULE_SPEEDUP, false, true,
     "the time of the reference divided by the candidate’s"},
    {"arena", RULE_ARENA, RULE_SCORE, false, true,
     "20 points for what compiles, 100 for what is right, and 100 times the mean speedup"},
    {"arena_pr77", RULE_ARENA, RULE_SCORE, false, true,
     "20 points for what compiles, 100 for what is right, and 100 times the mean speedup where "
     "both sides were timed by one method"},
    {"speedup_factor", RULE_MEAN, RULE_SPEEDUP, false, true,
     "the mean of the speedups over the workloads"},
    {"score", RULE_GEOMETRIC, RULE_SPEEDUP, false, false,
     "the geometric mean of the speedups over the benchmark cases"},
};
#define RULES (sizeof rules / sizeof rules[0])

const double rule_fast_p[RULE_FAST_P] = {0, 0.5, 0.8, 1, 1.5, 2};

struct rule_span rule_none(void)
{
    return (struct rule_span){NAN, NAN, NAN};
}

struct rule_span rule_exactly(double value)
{
    return (struct rule_span){value, value, value};
}

bool rule_is_some(const struct rule_span *span)
{
    return isfinite(span->value) && isfinite(span->low) && isfinite(span->high);
}

const struct rule *rule_find(const char *name)
{
    for (size_t i = 0; name && i < RULES; i++)
        if (!strcmp(rules[i].name, name))
            return &rules[i];
    return NULL;
}

static double part_of(const struct rule_span *span, enum part part)
{
    return part == LOW ? span->low : part == HIGH ? span->high : span->value;
}

static bool is_time(double value)
{
    return isfinite(value) && value > 0;
}

/* Of one end of all cases.  NaN when a case lacks what the rule needs. */
static double form_of(const struct rule *rule, const struct rule_case *cases, size_t n,
                      enum part part)
{
    double sum = 0, last = NAN;
    for (size_t i = 0; i < n; i++) {
        last = part_of(rule->unit == RULE_SECONDS ? &cases[i].seconds : &cases[i].speedup, part);
        if (!is_time(last))
            return NAN;
        sum += rule->form == RULE_GEOMETRIC ? log(last) : last;
    }
    double mean = sum / (double)n;
    switch (rule->form) {
    case RULE_LAST:
        return last;
    case RULE_GEOMETRIC:
        return exp(mean);
    case RULE_ARENA:
        return 120 + 100 * mean;
    case RULE_MEAN:
    default:
        return mean;
    }
}

struct rule_span rule_apply(const struct rule *rule, enum rule_outcome outcome,
                            const struct rule_case *cases, size_t n)
{
    if (outcome != RULE_RIGHT && rule->unit == RULE_SCORE)
        return rule_exactly(outcome == RULE_NOT_BUILT ? 0 : 20);
    if (outcome != RULE_RIGHT || n == 0)
        return rule_none();
    struct rule_span span = {form_of(rule, cases, n, VALUE), form_of(rule, cases, n, LOW),
                             form_of(rule, cases, n, HIGH)};
    return rule_is_some(&span) ? span : rule_none();
}

/* One end of fast_p and of the geometric mean. */
static double fast_share(const struct rule_problem *problems, size_t n, size_t counted, double p,
                         enum part part)
{
    size_t fast = 0;
    for (size_t i = 0; i < n; i++) {
        double speedup = part_of(&problems[i].speedup, part);
        fast += problems[i].has_baseline && problems[i].right && is_time(speedup) && speedup > p;
    }
    return counted ? (double)fast / (double)counted : 0;
}

static double mean_of_right(const struct rule_problem *problems, size_t n, enum part part)
{
    double sum = 0;
    size_t timed = 0;
    for (size_t i = 0; i < n; i++) {
        double speedup = part_of(&problems[i].speedup, part);
        if (!problems[i].has_baseline || !problems[i].right || !is_time(speedup))
            continue;
        sum += log(speedup);
        timed++;
    }
    return timed ? exp(sum / (double)timed) : 0;
}

void rule_kernelbench(const struct rule_problem *problems, size_t n, struct rule_run *ret)
{
    *ret = (struct rule_run){0};
    for (size_t i = 0; i < n; i++) {
        if (!problems[i].has_baseline)
            continue;
        ret->n++;
        ret->right += problems[i].right;
        ret->untimed += problems[i].right && !is_time(problems[i].speedup.value);
    }
    for (size_t k = 0; k < RULE_FAST_P; k++)
        ret->fast[k] = (struct rule_span){fast_share(problems, n, ret->n, rule_fast_p[k], VALUE),
                                          fast_share(problems, n, ret->n, rule_fast_p[k], LOW),
                                          fast_share(problems, n, ret->n, rule_fast_p[k], HIGH)};
    ret->geometric_mean =
        (struct rule_span){mean_of_right(problems, n, VALUE), mean_of_right(problems, n, LOW),
                           mean_of_right(problems, n, HIGH)};
}

/* Equal strings alone do not do: "mixed:..." says that some cases were timed one way and some another. */
static bool is_one_method(const struct rule_pair *pair)
{
    const char *a = pair->base_method, *b = pair->optimised_method;
    return a && b && !strcmp(a, b) &&
           (!strcmp(a, "cuda_graph") || !strcmp(a, "cuda_event_fallback"));
}

double rule_arena_speedup(enum rule_arena which, const struct rule_pair *pairs, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_time(pairs[i].base_ms) || !is_time(pairs[i].optimised_ms))
            return 0;
        if (which == RULE_ARENA_77 && !is_one_method(&pairs[i]))
            return 0;
        sum += pairs[i].base_ms / pairs[i].optimised_ms;
    }
    return n ? sum / (double)n : 0;
}

double rule_arena_score(enum rule_arena which, enum rule_outcome outcome, double base_mean_ms,
                        double optimised_mean_ms, double speedup)
{
    if (outcome != RULE_RIGHT)
        return outcome == RULE_NOT_BUILT ? 0 : 20;
    if (!is_time(speedup) && which == RULE_ARENA_MAIN && is_time(base_mean_ms) &&
        is_time(optimised_mean_ms))
        speedup = base_mean_ms / optimised_mean_ms;
    return 120 + (is_time(speedup) ? 100 * speedup : 0);
}

/* Python's statistics.quantiles(samples, n=100)[percent - 1], whose default is "exclusive"; n > 1. */
static double exclusive_quantile(const double *sorted, size_t n, size_t percent)
{
    size_t at = percent * (n + 1), j = at / 100;
    j = j < 1 ? 1 : j > n - 1 ? n - 1 : j;
    double delta = (double)at - 100.0 * (double)j;
    return (sorted[j - 1] * (100 - delta) + sorted[j] * delta) / 100;
}

void rule_arena_stats(const double *sorted, size_t n, struct rule_arena_stats *ret)
{
    *ret = (struct rule_arena_stats){0};
    if (n == 0)
        return;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += sorted[i];
    ret->mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (sorted[i] - ret->mean) * (sorted[i] - ret->mean);
    ret->median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    ret->deviation = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
    if (n == 1) {
        ret->p25 = ret->p75 = ret->p90 = sorted[0];
        return;
    }
    ret->p25 = exclusive_quantile(sorted, n, 25);
    ret->p75 = exclusive_quantile(sorted, n, 75);
    ret->p90 = exclusive_quantile(sorted, n, 90);
}
