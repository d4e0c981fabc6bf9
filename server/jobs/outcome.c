#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "internal.h"

static void copy_text(char *ret, size_t size, const json_t *json)
{
    const char *text = json_string_value(json);
    snprintf(ret, size, "%s", text ? text : "");
}

/* The score is the geometric mean of the cases' speedups, so its logarithm is the mean of theirs.  The cases are sampled
 * independently: the half-width of the mean is the root of the sum of the squares of their half-widths, divided by their
 * number. */
static void find_interval(const json_t *cases, struct outcome *ret)
{
    double sum = 0, squares = 0;
    size_t n = 0, i;
    json_t *one;
    ret->score_low = ret->score_high = NAN;
    json_array_foreach(cases, i, one)
    {
        const json_t *speedup = json_object_get(one, "speedup");
        if (!speedup)
            continue;
        double value = json_number_value(json_object_get(speedup, "value"));
        double low = json_number_value(json_object_get(speedup, "low"));
        double high = json_number_value(json_object_get(speedup, "high"));
        if (!(value > 0 && low > 0 && high >= low))
            return;
        double half = (log(high) - log(low)) / 2;
        sum += log(value);
        squares += half * half;
        n++;
    }
    if (n == 0)
        return;
    ret->score_low = exp((sum - sqrt(squares)) / (double)n);
    ret->score_high = exp((sum + sqrt(squares)) / (double)n);
}

void outcome_read(const char *result, struct outcome *ret)
{
    json_auto_t *json = json_loads(result, 0, NULL);
    const json_t *reason = json_object_get(json, "reason");
    copy_text(ret->code, sizeof ret->code, json_object_get(reason, "code"));
    copy_text(ret->task_hash, sizeof ret->task_hash,
              json_object_get(json_object_get(json, "task"), "hash"));
    ret->retryable = json_is_true(json_object_get(reason, "retryable"));
    /* A grade that is not accepted has figures, but the score 0. */
    bool scored = json_number_value(json_object_get(json, "score")) > 0;
    find_interval(scored ? json_object_get(json, "cases") : NULL, ret);
}
