#include "trace.h"

#include "groups.h"

#define NS_PER_US 1000.0

json_t *trace_new(void)
{
    return json_pack("{s:[], s:s, s:{s:i}}", "traceEvents", "displayTimeUnit", "ns", "otherData",
                     "ranges_left_out", 0);
}

static const char *category(const struct span *s, const char *name)
{
    if (s->domain == LOG_DOMAIN_API)
        return groups_of(name);
    return s->domain == LOG_DOMAIN_GRADER ? "kgrade" : "candidate";
}

int trace_add(json_t *trace, unsigned process, const char *label, size_t thread,
              const struct spans *spans, const struct span_logs *logs, double tick_ns,
              uint64_t from)
{
    json_t *events = json_object_get(trace, "traceEvents");
    size_t n = spans->n < TRACE_MAX_SPANS ? spans->n : TRACE_MAX_SPANS;
    if (json_array_append_new(events,
                              json_pack("{s:s, s:s, s:I, s:I, s:{s:s}}", "name", "process_name",
                                        "ph", "M", "pid", (json_int_t)process, "tid",
                                        (json_int_t)thread, "args", "name", label)))
        return -1;
    for (size_t i = 0; i < n; i++) {
        const struct span *s = &spans->list[i];
        const char *name = s->name < logs->n_names ? logs->names[s->name] : "?";
        double begin = s->begin > from ? (double)(s->begin - from) : 0;
        if (json_array_append_new(
                events, json_pack("{s:s, s:s, s:s, s:f, s:f, s:I, s:I}", "name", name, "cat",
                                  category(s, name), "ph", "X", "ts", begin * tick_ns / NS_PER_US,
                                  "dur", (double)s->inclusive * tick_ns / NS_PER_US, "pid",
                                  (json_int_t)process, "tid", (json_int_t)thread)))
            return -1;
    }
    json_t *left_out = json_object_get(json_object_get(trace, "otherData"), "ranges_left_out");
    return json_integer_set(left_out, json_integer_value(left_out) + (json_int_t)(spans->n - n));
}
