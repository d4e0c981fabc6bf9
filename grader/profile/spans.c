#include "spans.h"

#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"

#define NESTING_HINT                                                                               \
    "End every range on the thread on which it began, before those around it and before the call " \
    "returns."

void spans_free(struct spans *spans)
{
    free(spans->list);
    *spans = (struct spans){0};
}

static const char *name_of(const struct span_logs *logs, unsigned name)
{
    return name < logs->n_names ? logs->names[name] : "?";
}

/* Whether another thread began the range with this number. */
static bool began_elsewhere(const struct span_logs *logs, size_t thread, uint64_t number,
                            unsigned *ret_name)
{
    for (size_t t = 0; t < logs->n_threads; t++)
        for (size_t i = 0; t != thread && i < logs->n_events[t]; i++) {
            const struct log_event *e = &logs->events[t][i];
            if (log_kind_of(e) == LOG_START && log_number(e) == number) {
                *ret_name = log_name(e);
                return true;
            }
        }
    return false;
}

static bool ends(const struct log_event *e, const struct span *s)
{
    return log_kind_of(e) == LOG_POP ? s->stacked && s->domain == log_domain(e)
                                     : !s->stacked && s->number == log_number(e);
}

/* Why the end of a range is not that of the innermost open one. */
static int blame(const struct span_logs *logs, size_t thread, const struct span *list, uint32_t top,
                 const struct log_event *e, kgrade_error *err)
{
    uint32_t at = top;
    unsigned name;
    while (at != SPAN_NONE && !ends(e, &list[at]))
        at = list[at].parent;
    if (at != SPAN_NONE && list[at].domain >= LOG_DOMAIN_API)
        return fail(err, "range_unclosed", NESTING_HINT,
                    "Range \"%s\" is still open when %s returns.", name_of(logs, list[top].name),
                    name_of(logs, list[at].name));
    if (at != SPAN_NONE)
        return fail(err, "range_crossed", NESTING_HINT,
                    "Range \"%s\" ends while \"%s\", which began in it, is open.",
                    name_of(logs, list[at].name), name_of(logs, list[top].name));
    if (log_kind_of(e) == LOG_END && began_elsewhere(logs, thread, log_number(e), &name))
        return fail(err, "range_foreign_thread", NESTING_HINT,
                    "Range \"%s\" ends on another thread than it began on.", name_of(logs, name));
    return fail(err, "range_not_open", NESTING_HINT,
                "A range is ended that is not open, after \"%s\".",
                top == SPAN_NONE ? "the beginning" : name_of(logs, list[top].name));
}

static int check_lost(const struct span_logs *logs, size_t thread, kgrade_error *err)
{
    if (logs->threads_lost && thread == 0)
        return fail(err, "ring_full", "Work on fewer threads at once.",
                    "Ranges or calls of the API were on more than %zu threads at once.",
                    logs->n_threads);
    if (logs->lost[thread])
        return fail(err, "ring_full", "Name fewer ranges, or longer ones.",
                    "The log of ranges is full: %llu entries of thread %zu did not fit.",
                    (unsigned long long)logs->lost[thread], thread);
    return 0;
}

int spans_rebuild(const struct span_logs *logs, size_t thread, struct spans *ret, kgrade_error *err)
{
    size_t n = 0, n_events = logs->n_events[thread];
    uint32_t top = SPAN_NONE;
    if (check_lost(logs, thread, err))
        return -1;
    cleanup_free struct span *list = calloc(n_events + 1, sizeof *list);
    if (!list || n_events >= SPAN_NONE)
        return fail(err, "out_of_memory", NULL, "There is no memory for %zu ranges.", n_events);
    for (size_t i = 0; i < n_events; i++) {
        const struct log_event *e = &logs->events[thread][i];
        bool begins = log_kind_of(e) == LOG_PUSH || log_kind_of(e) == LOG_START;
        if (begins) {
            list[n] = (struct span){.name = log_name(e),
                                    .parent = top,
                                    .domain = log_domain(e),
                                    .stacked = log_kind_of(e) == LOG_PUSH,
                                    .number = log_number(e),
                                    .begin = e->ticks};
            top = (uint32_t)n++;
            continue;
        }
        if (e->what == LOG_THREAD_ENDED && top == SPAN_NONE)
            continue;
        if (e->what == LOG_THREAD_ENDED)
            return fail(err, "range_unclosed", NESTING_HINT,
                        "Range \"%s\" is still open when its thread ends.",
                        name_of(logs, list[top].name));
        if (top == SPAN_NONE || !ends(e, &list[top]))
            return blame(logs, thread, list, top, e, err);
        struct span *s = &list[top];
        s->inclusive = e->ticks > s->begin ? e->ticks - s->begin : 0;
        top = s->parent;
        if (top != SPAN_NONE &&
            __builtin_add_overflow(list[top].children, s->inclusive, &list[top].children))
            list[top].children = UINT64_MAX;
    }
    if (top != SPAN_NONE)
        return fail(err, "range_unclosed", NESTING_HINT, "Range \"%s\" is never ended.",
                    name_of(logs, list[top].name));
    *ret = (struct spans){steal_pointer(&list), n};
    return 0;
}
