/* Ranges in the trace format of Chrome's about:tracing, which Perfetto reads: times are microseconds, as doubles. */
#ifndef KGRADE_PROFILE_TRACE_H
#define KGRADE_PROFILE_TRACE_H

#include <jansson.h>

#include "spans.h"

#define TRACE_MAX_SPANS 20000u /* of each process and thread */

/* {"traceEvents": [], "otherData": {"ranges_left_out": 0}} */
json_t *trace_new(void);

/* Adds a thread's ranges, the first TRACE_MAX_SPANS of them.  `process` numbers the processes of a profile from 1; `label` tells what it
 * was; a ticks' length is tick_ns, and ticks count from `from`. */
int trace_add(json_t *trace, unsigned process, const char *label, size_t thread,
              const struct spans *spans, const struct span_logs *logs, double tick_ns,
              uint64_t from);

#endif
