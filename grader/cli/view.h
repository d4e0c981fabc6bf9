/* Reading JSON that may lack anything: every function takes NULL and gives an empty answer. */
#ifndef KGRADE_CLI_VIEW_H
#define KGRADE_CLI_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* The value behind keys separated by dots, or NULL (also for null). */
const json_t *view_at(const json_t *json, const char *path);

/* NaN when it is no number. */
double view_number(const json_t *json, const char *path);

/* The time of a series of a result ("device_time", "baseline"): its centre, or the median of results that have none.  NaN without. */
double view_time_ns(const json_t *series);

/* NULL when it is no string or an empty one. */
const char *view_string(const json_t *json, const char *path);

bool view_true(const json_t *json, const char *path);
bool view_false(const json_t *json, const char *path);

/* A value in few characters: strings without quotes, numbers short, "[a, b]" for a list of such,
 * the rest as JSON.  Caller frees; NULL for NULL. */
char *view_brief(const json_t *json);

/* "m=512 n=512 k=128" from {"m": 512, ...}; "" for anything else.  Caller frees. */
char *view_assignments(const json_t *json);

/* For jansson's iterators, which take no const object and change nothing. */
static inline json_t *view_members(const json_t *json)
{
    union {
        const json_t *in;
        json_t *out;
    } same = {json};
    return same.out;
}

#endif
