/*
 * The roofline: what a device's measured ceilings say about a time (Williams, Waterman and Patterson, "Roofline", CACM 2009).
 */
#ifndef KGRADE_ROOFLINE_H
#define KGRADE_ROOFLINE_H

#include <jansson.h>

#include "../task/task.h"

#define ROOFLINE_SLACK 1.25 /* a ceiling is measured, and a measurement may be low */

struct roofline {
    double fraction; /* of the ceiling that binds; negative when the task's formulas give nothing */
    const char *bound; /* "memory" or "compute" */
    double least_ns;   /* no honest replay is faster */
    /* What the fraction was made from, when it is not negative. */
    int64_t bytes, operations; /* of one replay, by the task's formulas */
    double memory_bytes_per_s, cache_bytes_per_s, operations_per_s;
};

/* Whether samples are taken with the caches evicted: the replayer's "cache" is "cold". */
bool roofline_is_cold(const json_t *info);

/*
 * info and ceilings as the replayer gives them; time_ns of one replay.
 * Warm caches: nothing says that data comes from memory, so only the caches' rate cannot be beaten.
 * Cold caches: what is read comes from memory; as much of the output as the last-level cache holds ("l2_bytes") may still be in
 * it when the last kernel ends.
 */
struct roofline roofline_of(const struct task *task, const int64_t *dims, const json_t *info,
                            const json_t *ceilings, double time_ns);

#endif
