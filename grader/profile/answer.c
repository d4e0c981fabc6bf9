#include "answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/fail.h"
#include "collector.h"

#define MAX_TICK_NS 1e6
#define MAX_TIME_NS 1e15 /* of a block of calls: twelve days */
#define DRIFT 0.25
#define DRIFT_NS 5.0

void answer_free(struct answer *a)
{
    free(a->names);
    free(a->end_to_end);
    *a = (struct answer){0};
}

static int tampered(const char *what, kgrade_error *err)
{
    return fail(err, "recorder_tampered", "Leave the descriptors of the process alone.",
                "The profile that came is none: its %s cannot be.", what);
}

static bool read_number(const json_t *object, const char *key, double least, double most,
                        double *ret)
{
    const json_t *value = json_object_get(object, key);
    *ret = json_number_value(value);
    return json_is_number(value) && isfinite(*ret) && *ret >= least && *ret <= most;
}

static bool read_costs(const json_t *json, const char *key, struct collector_costs *ret)
{
    const json_t *costs = json_object_get(json, key);
    const struct {
        const char *key;
        double *ret;
    } numbers[] = {{"leaf_ns", &ret->range.leaf_ns},
                   {"complete_ns", &ret->range.complete_ns},
                   {"call_leaf_ns", &ret->call.leaf_ns},
                   {"call_complete_ns", &ret->call.complete_ns}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!read_number(costs, numbers[i].key, -MAX_TICK_NS, MAX_TICK_NS, numbers[i].ret))
            return false;
    return true;
}

static int read_times(const json_t *list, struct answer *ret, kgrade_error *err)
{
    size_t n = json_array_size(list);
    ret->end_to_end = calloc(n + 1, sizeof *ret->end_to_end);
    if (!ret->end_to_end)
        return fail(err, "out_of_memory", NULL, "There is no memory for %zu times.", n);
    for (size_t i = 0; i < n; i++) {
        double ns = json_number_value(json_array_get(list, i));
        if (!isfinite(ns) || ns < 0 || ns > MAX_TIME_NS)
            return tampered("times", err);
        ret->end_to_end[ret->n_end_to_end++] = ns;
    }
    return 0;
}

static int read_names(const json_t *list, struct answer *ret, kgrade_error *err)
{
    size_t n = json_array_size(list);
    if (n > LOG_MAX_NAMES)
        return tampered("names", err);
    ret->names = calloc(n + 1, sizeof *ret->names);
    if (!ret->names)
        return fail(err, "out_of_memory", NULL, "There is no memory for %zu names.", n);
    for (size_t i = 0; i < n; i++) {
        ret->names[i] = json_string_value(json_array_get(list, i));
        if (!ret->names[i] || strlen(ret->names[i]) >= LOG_MAX_NAME)
            return tampered("names", err);
    }
    ret->logs.names = ret->names;
    ret->logs.n_names = n;
    return 0;
}

static bool read_count(const json_t *object, const char *key, uint64_t most, uint64_t *ret)
{
    const json_t *value = json_object_get(object, key);
    *ret = (uint64_t)json_integer_value(value);
    return json_is_integer(value) && json_integer_value(value) >= 0 && *ret <= most;
}

static int read_logs(const struct wire_message *message, struct answer *ret, kgrade_error *err)
{
    const json_t *threads = json_object_get(message->json, "threads");
    size_t room = sizeof ret->logs.events / sizeof ret->logs.events[0];
    size_t at = 0, total = message->blob.size / sizeof(struct log_event);
    ret->logs.n_threads = json_array_size(threads);
    if (ret->logs.n_threads < 1 || ret->logs.n_threads > room ||
        !read_count(message->json, "threads_lost", UINT64_MAX, &ret->logs.threads_lost))
        return tampered("threads", err);
    for (size_t i = 0; i < ret->logs.n_threads; i++) {
        const json_t *thread = json_array_get(threads, i);
        uint64_t n;
        uint64_t most = i == 0 ? COLLECTOR_EVENTS : COLLECTOR_OTHER_EVENTS;
        if (!read_count(thread, "events", total - at < most ? total - at : most, &n) ||
            !read_count(thread, "lost", UINT64_MAX, &ret->logs.lost[i]))
            return tampered("log", err);
        ret->logs.events[i] = (const struct log_event *)(const void *)message->blob.data + at;
        ret->logs.n_events[i] = (size_t)n;
        at += (size_t)n;
    }
    return at == total && message->blob.size % sizeof(struct log_event) == 0 ? 0
                                                                             : tampered("log", err);
}

int answer_read(const struct wire_message *message, struct answer *ret, kgrade_error *err)
{
    const json_t *json = message->json;
    double calls, block;
    ret->clock = json_string_value(json_object_get(json, "clock"));
    if (!ret->clock || (strcmp(ret->clock, "tsc") && strcmp(ret->clock, "monotonic")) ||
        !read_number(json, "tick_ns", 1e-6, MAX_TICK_NS, &ret->tick_ns))
        return tampered("clock", err);
    if (!read_number(json, "calls", 1, ANSWER_MAX_CALLS, &calls) ||
        !read_number(json, "block", 1, calls, &block) ||
        !read_costs(json, "before", &ret->before) || !read_costs(json, "after", &ret->after))
        return tampered("counts", err);
    ret->calls = (unsigned)calls;
    ret->block = (unsigned)block;
    return read_times(json_object_get(json, "end_to_end"), ret, err) ||
                   read_names(json_object_get(json, "names"), ret, err) ||
                   read_logs(message, ret, err)
               ? -1
               : 0;
}

bool answer_drifted(const struct answer *a)
{
    double before = a->before.range.complete_ns;
    double change = fabs(a->after.range.complete_ns - before);
    return change > DRIFT_NS && change > DRIFT * fabs(before);
}
