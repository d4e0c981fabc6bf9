/* Figures of ranges: one row for each range, place, thread, phase and metric, in the form of the reports of InfiniOps's host range profiling. */
#ifndef KGRADE_PROFILE_ROWS_H
#define KGRADE_PROFILE_ROWS_H

#include <jansson.h>

#include "collector.h"
#include "spans.h"

#define ROWS_MAX 4096u     /* ranges that are told apart, of one phase */
#define ROWS_MAX_DEPTH 32u /* ranges around one */
/* A range whose notes cost more than this share of its median is no stable figure. */
#define ROWS_OBSERVER_SHARE 0.1

#define ROWS_COLD_POPULATION "first_calls_of_processes"
#define ROWS_WARM_POPULATION "single_calls"
#define ROWS_BLOCK_POPULATION "block_averages"

/* What all rows of a report have in common. */
struct rows_common {
    const char *nodeid, *operator_name, *backend;
};

/* Samples of one phase. */
struct rows;
struct rows *rows_new(void); /* NULL: no memory */
void rows_free(struct rows *rows);
static inline void rows_free_(struct rows **rows)
{
    rows_free(*rows);
}
#define cleanup_rows __attribute__((cleanup(rows_free_)))

/*
 * Takes the ranges of a thread.  Ranges of one name are told apart by what is around them.  A call of the device's API counts under its group ("backend.submit") and as
 * "api.FUNCTION"; where the candidate has named a range like the group around it, or where the API calls itself, it is part of
 * that range and not counted again.  Threads are told apart in the rows.  -1 with `out_of_memory` or `too_many_ranges`.
 */
int rows_add(struct rows *rows, const struct spans *spans, const struct span_logs *logs,
             size_t thread, double tick_ns, kgrade_error *err);

/* Launches of kernels among what was added. */
size_t rows_launches(const struct rows *rows);

/* What noting adds to the time of whatever is around: a range that the candidate named, or a call of the API. */
struct rows_observer {
    double range_ns, call_ns;
};

/* Appends a row of each kind to the array, each range before what is in it, functions of the API right behind their group,
 * else in the order in which they appeared. */
int rows_write(struct rows *rows, const struct rows_common *common, const char *phase,
               const char *population, const struct rows_observer *observer, json_t *to);

/* One row of other samples, which it sorts; n > 0.  path: the names of the ranges around it, the outermost first. */
json_t *rows_one(const struct rows_common *common, const char *phase, const char *range,
                 const char *metric, size_t count, double *samples, size_t n,
                 const char *population, size_t thread, double observer_ns, json_t *path);

#endif
