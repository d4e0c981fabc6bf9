/*
 * Where CPU time goes inside a call, noted from inside: every range leaves two entries in its thread's log.
 *
 * In a window nothing is allocated, no lock is taken but for a name never seen before, and nothing is computed: entries
 * go into memory that was touched beforehand, nesting and durations are worked out later from the log (spans.h).  A range reads its
 * begin last and its end first, so that what it costs is its parent's.  The clock is the processor's time stamp counter where
 * that runs at one speed whatever the processor does, else CLOCK_MONOTONIC.
 *
 * A log that is full counts what it drops; nothing grows.  The first thread that opens has the large log; up to
 * COLLECTOR_MAX_THREADS - 1 others at once get small ones when they first note something.  A thread that ends leaves its log to
 * the next one, which goes on in it.
 */
#ifndef KGRADE_PROFILE_COLLECTOR_H
#define KGRADE_PROFILE_COLLECTOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "kgrade/error.h"
#include "log.h"

#define COLLECTOR_MAX_THREADS 8u
#define COLLECTOR_EVENTS (1u << 20)       /* of the first thread: 16 MiB */
#define COLLECTOR_OTHER_EVENTS (1u << 16) /* of each other thread: 1 MiB */

enum collector_clock { COLLECTOR_CLOCK_BEST, COLLECTOR_CLOCK_MONOTONIC };

/* Once in a process, by the thread that will make the calls.  -1 with `out_of_memory`. */
int collector_open(enum collector_clock clock, kgrade_error *err);
void collector_close(void);

/* "tsc" or "monotonic". */
const char *collector_clock_name(void);

/* Ranges are noted from here on, or no more.  Not noted is the state after collector_open. */
void collector_resume(void);
void collector_pause(void);
extern atomic_bool collector_active; /* to be read only */
static inline bool collector_is_active(void)
{
    return atomic_load_explicit(&collector_active, memory_order_relaxed);
}

/* Drops what was noted, by the thread that opened and while paused. */
void collector_clear(void);

/* Names: the number of a text, the same for the same text; LOG_MAX_NAMES - 1 stands for all that do not fit. */
unsigned collector_name(const char *text);
unsigned collector_names(void);
const char *collector_name_text(unsigned name);
unsigned collector_domain(const char *text); /* a new one; beyond LOG_MAX_DOMAINS the default one */

/* Ranges.  Without effect while paused. */
void collector_push(unsigned domain, const char *text);
void collector_push_name(unsigned domain, unsigned name);
void collector_pop(unsigned domain);
uint64_t collector_start(unsigned domain, const char *text); /* its number, 0 while paused */
void collector_end(uint64_t number);

/* What was noted; valid until it is cleared. */
struct collector_log {
    const struct log_event *events;
    size_t n;
    uint64_t lost; /* did not fit */
};
unsigned
collector_threads(void); /* logs that were begun; the first is that of the thread that opened */
struct collector_log collector_log(unsigned thread);
uint64_t collector_threads_lost(void); /* entries of threads that got no log */

/* Nanoseconds of a tick, from the time since collector_open. */
double collector_tick_ns(void);

/* What a range costs: measured on empty ones, while nothing else is noted; keeps what is in the log. */
struct collector_cost {
    double leaf_ns;     /* what an empty range reads as long */
    double complete_ns; /* what it adds to its parent */
};
void collector_calibrate(struct collector_cost *ret);

/* The same of calls of a device's API, which somebody else reports to the collector at a cost of its own. */
struct collector_calls {
    void (*watch)(void *data, bool on); /* whether calls are reported */
    void (*call)(void *data);           /* one call, that leaves one range */
    void *data;
};
void collector_calibrate_calls(const struct collector_calls *calls, struct collector_cost *ret);

/* Both, in one process. */
struct collector_costs {
    struct collector_cost range, call;
};

#endif
