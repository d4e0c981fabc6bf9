/*
 * Ranges, rebuilt from the logs of threads.  Logs come from a process that candidate code ran in: nothing in them is
 * believed but that they are entries.
 *
 * A range must end on the thread on which it began, before those around it do.  What does not is a mistake, and where there is one there
 * are no ranges: figures from a log that does not nest would be wrong without showing it.
 */
#ifndef KGRADE_PROFILE_SPANS_H
#define KGRADE_PROFILE_SPANS_H

#include <stdbool.h>
#include <stddef.h>

#include "kgrade/error.h"
#include "log.h"

#define SPAN_NONE UINT32_MAX

struct span {
    uint32_t name;
    uint32_t parent; /* index, smaller than its own, or SPAN_NONE */
    unsigned domain;
    bool stacked;       /* by push, and ended by pop; else ended by its number */
    uint64_t number;    /* when not stacked */
    uint64_t begin;     /* ticks, as are the following */
    uint64_t inclusive; /* not below 0 */
    uint64_t children;  /* sum of the inclusive times of its direct children */
};

struct spans {
    struct span *list; /* parents before their children; owned */
    size_t n;
};

/* One process's logs. */
struct span_logs {
    const struct log_event *events[8]; /* of each thread */
    size_t n_events[8];
    uint64_t lost[8];
    size_t n_threads;
    uint64_t threads_lost;
    const char *const *names;
    size_t n_names;
};

/* Ranges of one thread, whose own time is inclusive - children, at least 0.  -1 with `range_unclosed`, `range_crossed`,
 * `range_not_open`, `range_foreign_thread`, `ring_full` or `out_of_memory`. */
int spans_rebuild(const struct span_logs *logs, size_t thread, struct spans *ret,
                  kgrade_error *err);
void spans_free(struct spans *spans);
#define cleanup_spans __attribute__((cleanup(spans_free)))

static inline uint64_t span_self(const struct span *s)
{
    return s->inclusive > s->children ? s->inclusive - s->children : 0;
}

#endif
