/* From a result, and from what stood on the board, to the figures of an entry. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../cli/view.h"
#include "../../measure/statistics.h"
#include "gather.h"

#define Z 1.96              /* of a normal distribution's middle 95 % */
#define MEDIAN_ERROR 1.2533 /* of a median, in errors of the mean; sqrt(pi / 2) */

static bool is_positive(double value)
{
    return isfinite(value) && value > 0;
}

/* The device time of a case, in seconds: its median and that median's interval, no narrower than the clock's tick. */
static struct rule_span seconds_of(const json_t *series)
{
    double median = view_number(series, "median_ns");
    double error = view_number(series, "stderr_ns") * MEDIAN_ERROR * Z;
    if (!is_positive(median))
        return rule_none();
    double low = isfinite(error) ? median - error : median;
    double high = isfinite(error) ? median + error : median;
    const json_t *samples = view_at(series, "samples_ns");
    size_t all = json_array_size(samples), n = 0;
    cleanup_free double *values = calloc(all + 1, sizeof *values);
    for (size_t i = 0; values && i < all; i++) {
        double value = json_number_value(json_array_get(samples, i));
        if (isfinite(value))
            values[n++] = value;
    }
    if (n) {
        statistics_sort(values, n);
        statistics_median_interval(values, n, Z, &low, &high);
    }
    double tick = view_number(series, "resolution_ns");
    tick = is_positive(tick) ? tick / 2 : 0;
    low = fmin(low, median) - tick;
    high = fmax(high, median) + tick;
    return (struct rule_span){median / 1e9, fmax(low, median * 1e-3) / 1e9, high / 1e9};
}

static struct rule_span speedup_of(const json_t *one)
{
    double value = view_number(one, "speedup.value");
    if (!is_positive(value))
        return rule_none();
    double low = view_number(one, "speedup.low"), high = view_number(one, "speedup.high");
    return (struct rule_span){value, is_positive(low) ? fmin(low, value) : value,
                              is_positive(high) ? fmax(high, value) : value};
}

static double or_none(double value)
{
    return is_positive(value) ? value : NAN;
}

static int read_cases(struct board *b, const json_t *result, struct board_entry *e,
                      kgrade_error *err)
{
    const json_t *cases = view_at(result, "cases");
    e->cases = calloc(json_array_size(cases) + 1, sizeof *e->cases);
    if (!e->cases)
        return board_no_memory(err);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i);
        const char *kind = view_string(one, "kind");
        if (!kind || strcmp(kind, "benchmark"))
            continue;
        cleanup_free char *dims = view_assignments(view_at(one, "dims"));
        struct board_case *c = &e->cases[e->n_cases++];
        *c = (struct board_case){
            .name = board_keep_or(b, dims, "benchmark"),
            .figures = {seconds_of(view_at(one, "device_time")), speedup_of(one)},
            .device_ns = or_none(view_time_ns(view_at(one, "device_time"))),
            .baseline_ns = or_none(view_time_ns(view_at(one, "baseline"))),
            .host_ns = or_none(view_number(one, "host_overhead.warm_ns"))};
        if (!c->name)
            return board_no_memory(err);
    }
    return 0;
}

/* NaN where a case has none. */
static double geometric_mean(const struct board_entry *e, double (*of)(const struct board_case *))
{
    double sum = 0;
    for (size_t i = 0; i < e->n_cases; i++)
        sum += log(of(&e->cases[i]));
    return e->n_cases ? exp(sum / (double)e->n_cases) : NAN;
}

static double device_of(const struct board_case *c)
{
    return c->device_ns;
}

static double host_of(const struct board_case *c)
{
    return c->host_ns;
}

int board_read_result(struct board *b, const json_t *result, struct board_entry *e,
                      kgrade_error *err)
{
    if (read_cases(b, result, e, err))
        return -1;
    e->host_ns = geometric_mean(e, host_of);
    if (e->accepted)
        e->device_ns = geometric_mean(e, device_of);
    return 0;
}

/* --- what stood on the board --- */

double board_unit_seconds(const char *unit)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    for (size_t i = 0; unit && i < sizeof units / sizeof units[0]; i++)
        if (!strcmp(units[i].name, unit))
            return units[i].seconds;
    return NAN;
}

/* Geometric means of the single figures behind the value; NaN where one is missing. */
static void read_original_cases(const json_t *cases, struct board_entry *e)
{
    double times = 0, speedups = 0;
    size_t n = json_array_size(cases);
    for (size_t i = 0; i < n; i++) {
        double time = or_none(view_number(json_array_get(cases, i), "time_ns"));
        double base = or_none(view_number(json_array_get(cases, i), "baseline_ns"));
        e->has_baseline |= isfinite(base);
        times += log(time);
        speedups += log(base / time);
    }
    if (n) {
        e->old_seconds = exp(times / (double)n) / 1e9;
        e->old_speedup = exp(speedups / (double)n);
    }
}

/* A mean of those that there are. */
struct mean {
    double sum, n;
};

static void mean_add(struct mean *mean, double value)
{
    if (!isfinite(value))
        return;
    mean->sum += value;
    mean->n++;
}

/* Both rules of AgentKernelArena over the same cases.  What was not right keeps the points that it had.  The means that main falls
 * back to are of each side's own cases, matched or not. */
static void read_arena(const struct regrade_original *o, struct board_entry *e)
{
    size_t n = json_array_size(o->cases);
    cleanup_free struct rule_pair *pairs = calloc(n + 1, sizeof *pairs);
    struct mean base = {0}, optimised = {0};
    for (size_t i = 0; pairs && i < n; i++) {
        const json_t *one = json_array_get(o->cases, i);
        const char *method = view_string(one, "method");
        pairs[i] = (struct rule_pair){or_none(view_number(one, "baseline_ns")) / 1e6,
                                      or_none(view_number(one, "time_ns")) / 1e6, method, method};
        mean_add(&base, pairs[i].base_ms);
        mean_add(&optimised, pairs[i].optimised_ms);
    }
    for (int k = 0; pairs && k < 2; k++) {
        enum rule_arena which = k ? RULE_ARENA_77 : RULE_ARENA_MAIN;
        if (o->passed == REGRADE_FAILED)
            e->arena_score[k] = o->value;
        if (o->passed == REGRADE_FAILED || n == 0)
            continue;
        e->arena_speedup[k] = rule_arena_speedup(which, pairs, n);
        e->arena_score[k] = rule_arena_score(which, RULE_RIGHT, base.sum / base.n,
                                             optimised.sum / optimised.n, e->arena_speedup[k]);
    }
}

void board_read_original(struct board *b, const struct regrade_original *o, struct board_entry *e)
{
    e->value = isfinite(o->value) && (o->value > 0 || !o->lower_is_better) ? o->value : NAN;
    e->unit = board_keep(b, o->unit);
    e->rank = o->rank;
    e->passed = o->passed == REGRADE_PASSED;
    e->counted = o->passed != REGRADE_FAILED && (isfinite(e->value) || o->rank);
    e->old_seconds = e->old_speedup = NAN;
    e->arena_speedup[0] = e->arena_speedup[1] = e->arena_score[0] = e->arena_score[1] = NAN;
    read_original_cases(o->cases, e);
    if (o->unit && !strcmp(o->unit, "points"))
        read_arena(o, e);
    double seconds = board_unit_seconds(o->unit);
    if (isfinite(seconds))
        e->old_seconds = or_none(e->value * seconds);
    else if (o->unit && !strcmp(o->unit, "ratio"))
        e->old_speedup = or_none(e->value);
}

const struct rule *board_rule_for(const struct board_source *source,
                                  const struct regrade_original *o)
{
    const struct rule *rule = rule_find(o->rule);
    if (!rule)
        rule = source->rule ? source->rule : rule_find("score");
    if (rule->unit != RULE_SECONDS && isfinite(board_unit_seconds(o->unit)) && !rule->over_problems)
        return rule_find("geom");
    if (rule->unit == RULE_SECONDS && o->unit && !strcmp(o->unit, "ratio"))
        return rule_find("score");
    return rule;
}
