/*
 * Counters for /metrics, in the text format of Prometheus.
 *
 * Counting never waits for a reader, and counting a request never allocates; all functions may be
 * called from any thread.  Labels come from fixed sets (verdicts, devices, routes) or from tasks,
 * never from what a stranger wrote.
 *
 *     kgrade_grades_total{verdict,device,task}      kgrade_step_seconds{step,device}
 *     kgrade_faults_total{code,device}              kgrade_requests_total{route,status}
 *     kgrade_request_seconds{route}                 and the figures that metrics_text is given
 */
#ifndef KGRADED_METRICS_H
#define KGRADED_METRICS_H

#include <stddef.h>

#include "kgrade/kgrade.h"

struct metrics;

/* NULL without memory. */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

/* A grade ended.  result is its JSON (schema kgrade.grade/1): verdict, device, task and the time of each step are taken
 * from it.  Beyond METRICS_MAX_SERIES combinations of verdict, device and task, further ones count as task "other". */
#define METRICS_MAX_SERIES 1024
void metrics_grade(struct metrics *metrics, const char *result);

/* A request was answered; route is a path of the table of routes ("/grades/{id}") or "other". */
void metrics_request(struct metrics *metrics, const char *route, unsigned status, double seconds);

/* A figure of the moment or a total, taken over at the time of reading: queue depth, store latency,
 * slot state...  Those of one name are printed together, with the help of the first. */
struct metrics_gauge {
    const char *name; /* "kgrade_queue_waiting" */
    const char *help;
    const char *labels; /* "device=\"cuda\"", escaped, or NULL */
    bool is_counter;
    double value;
};

/* The whole page, to be freed; NULL without memory. */
char *metrics_text(struct metrics *metrics, const struct metrics_gauge *gauges, size_t n);

#endif
