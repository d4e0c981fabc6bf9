#define _GNU_SOURCE
#include "worker.h"

#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "collector.h"
#include "exports.h"

/*
 * Calls of a block.  Of a block's time 25 ns are for reading the clock, which does not show.  A call costs more at the beginning of a
 * block, where the device sleeps and nothing is in the caches, and less where the queue is long, so figures are alike only when blocks
 * are: there are no more sizes than these and 1, for kernels that take long, and the quickest of some tries decides.
 */
#define BLOCK_CALLS 16u
#define TRIES 3u
#define LEAST_BLOCKS 5u
#define LEAST_SLOW_BLOCKS 3u /* where these alone spend the budget */
#define MOST_BLOCKS 500u
#define LOG_SHARE 0.9 /* of a log that the warm calls may fill */
/* Between two blocks; whether a block's first call has to wake the device is then no matter of luck. */
#define REST_NS (60 * 1000ull)
#define ENTRY_RANGE "candidate.entry"

int profile_open(kgrade_error *err)
{
    return collector_open(COLLECTOR_CLOCK_BEST, err) || exports_announce(err) ? -1 : 0;
}

/* This thread stays awake, and what it has in the caches stays there; the device falls asleep. */
static void spin(uint64_t ns)
{
    uint64_t end = io_now() + ns;
    while (io_now() < end)
        ;
}

/* n calls between two waits for the device, which are no part of the time that *ret_ns tells. */
static int window(const struct profile_target *t, unsigned n, bool noted, uint64_t *ret_ns,
                  kgrade_error *err)
{
    unsigned entry = collector_name(ENTRY_RANGE);
    spin(REST_NS);
    if (t->device->begin(t->state, RECORD_EXECUTE, err))
        return -1;
    if (noted)
        collector_resume();
    uint64_t start = io_now();
    for (unsigned i = 0; i < n; i++) {
        collector_push_name(LOG_DOMAIN_GRADER, entry);
        call_invoke(t->call, t->entry);
        collector_pop(LOG_DOMAIN_GRADER);
    }
    *ret_ns = io_now() - start;
    collector_pause();
    return t->device->end(t->state, RECORD_EXECUTE, NULL, err);
}

static void watch(const struct profile_target *t, bool on)
{
    if (t->device->profile)
        t->device->profile(t->state, on);
}

/* --- how many calls --- */

/* *ret_whole_ns: of the quickest of some blocks of n calls, waiting for the device included; of fewer where these would take all
 * of the budget. */
static int try_block(const struct profile_target *t, unsigned n, uint64_t budget_ns,
                     uint64_t *ret_whole_ns, kgrade_error *err)
{
    *ret_whole_ns = UINT64_MAX;
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t ns, start = io_now();
        if (window(t, n, false, &ns, err))
            return -1;
        uint64_t whole_ns = io_now() - start;
        *ret_whole_ns = whole_ns < *ret_whole_ns ? whole_ns : *ret_whole_ns;
        if (whole_ns > budget_ns / TRIES)
            break;
    }
    return 0;
}

/* The share of the fullest log that one call takes. */
static int share_of_call(const struct profile_target *t, double *ret, kgrade_error *err)
{
    uint64_t ns;
    collector_clear();
    if (window(t, 1, true, &ns, err))
        return -1;
    *ret = 0;
    for (unsigned i = 0; i < collector_threads(); i++) {
        double room = i ? COLLECTOR_OTHER_EVENTS : COLLECTOR_EVENTS;
        double share = (double)collector_log(i).n / room;
        *ret = share > *ret ? share : *ret;
    }
    collector_clear();
    return 0;
}

/* How many calls a block has, and how long it takes.  share: of the log, that a call fills. */
static int find_block(const struct profile_target *t, uint64_t budget_ns, double share,
                      unsigned *ret, uint64_t *ret_whole_ns, kgrade_error *err)
{
    uint64_t long_ns = budget_ns / (2 * LEAST_BLOCKS);
    *ret = 1;
    if (try_block(t, 1, budget_ns, ret_whole_ns, err))
        return -1;
    if (*ret_whole_ns > long_ns / BLOCK_CALLS || share * BLOCK_CALLS > LOG_SHARE)
        return 0;
    *ret = BLOCK_CALLS;
    return try_block(t, BLOCK_CALLS, budget_ns, ret_whole_ns, err);
}

static unsigned count_blocks(uint64_t budget_ns, uint64_t block_ns, double share_of_block)
{
    double n = (double)budget_ns / (double)(block_ns ? block_ns : 1);
    unsigned least = n < LEAST_SLOW_BLOCKS ? LEAST_SLOW_BLOCKS : LEAST_BLOCKS;
    n = n < least ? least : n > MOST_BLOCKS ? MOST_BLOCKS : n;
    if (share_of_block > 0 && n * share_of_block > LOG_SHARE)
        n = LOG_SHARE / share_of_block;
    return n < 1 ? 1 : (unsigned)n;
}

/* --- phases --- */

struct figures {
    unsigned calls, block;
    struct collector_costs before, after;
    json_t *end_to_end; /* owned */
};

static void report_calls(void *data, bool on)
{
    watch(data, on);
}

static void make_idle_call(void *data)
{
    const struct profile_target *t = data;
    t->device->idle_call(t->state);
}

static void calibrate(const struct profile_target *t, struct collector_costs *ret)
{
    const struct collector_calls calls = {report_calls, make_idle_call, (void *)(uintptr_t)t};
    collector_calibrate(&ret->range);
    ret->call = ret->range;
    if (t->device->idle_call)
        collector_calibrate_calls(&calls, &ret->call);
}

static int cold(const struct profile_target *t, struct figures *f, kgrade_error *err)
{
    uint64_t ns;
    calibrate(t, &f->before);
    t->progress("first_call");
    watch(t, true);
    int failed = window(t, 1, true, &ns, err);
    watch(t, false);
    calibrate(t, &f->after);
    f->calls = f->block = 1;
    return failed;
}

/* Before a block of several one call that does not count: the first after a change of what is reported is slow. */
static int settled_block(const struct profile_target *t, unsigned calls, bool noted,
                         uint64_t *ret_ns, kgrade_error *err)
{
    if (calls > 1 && window(t, 1, false, ret_ns, err))
        return -1;
    return window(t, calls, noted, ret_ns, err);
}

/* A block in which nothing is noted, whose time is that of whole calls; then one in which ranges are. */
static int two_blocks(const struct profile_target *t, struct figures *f, kgrade_error *err)
{
    uint64_t ns;
    if (settled_block(t, f->block, false, &ns, err))
        return -1;
    json_array_append_new(f->end_to_end, json_real((double)ns / f->block));
    watch(t, true);
    int failed = settled_block(t, f->block, true, &ns, err);
    watch(t, false);
    return failed;
}

/* Two populations, in turn: what changes meanwhile, a clock or another program, changes both. */
static int warm(const struct profile_target *t, uint64_t budget_ns, struct figures *f,
                kgrade_error *err)
{
    uint64_t ns, whole_ns = 0;
    double share;
    t->progress("first_call");
    if (window(t, 1, false, &ns, err))
        return -1;
    t->progress("warm");
    watch(t, true);
    int failed = share_of_call(t, &share, err);
    watch(t, false);
    if (failed || find_block(t, budget_ns, share, &f->block, &whole_ns, err))
        return -1;
    unsigned blocks = count_blocks(budget_ns, whole_ns, share * f->block);
    f->calls = blocks * f->block;
    calibrate(t, &f->before);
    for (unsigned i = 0; i < blocks; i++)
        if (two_blocks(t, f, err))
            return -1;
    calibrate(t, &f->after);
    return 0;
}

/* --- the answer --- */

static json_t *names_json(void)
{
    json_t *names = json_array();
    for (unsigned i = 0; i < collector_names(); i++) {
        json_t *text = json_string(collector_name_text(i));
        json_array_append_new(names, text ? text : json_string("(not UTF-8)"));
    }
    return names;
}

static json_t *threads_json(void)
{
    json_t *threads = json_array();
    for (unsigned i = 0; i < collector_threads(); i++) {
        struct collector_log log = collector_log(i);
        json_array_append_new(threads, json_pack("{s:I, s:I}", "events", (json_int_t)log.n, "lost",
                                                 (json_int_t)log.lost));
    }
    return threads;
}

static int copy_logs(struct bytes *ret, kgrade_error *err)
{
    size_t size = 0, at = 0;
    for (unsigned i = 0; i < collector_threads(); i++)
        size += collector_log(i).n * sizeof(struct log_event);
    ret->data = malloc(size + 1);
    if (!ret->data)
        return fail(err, "out_of_memory", NULL, "There is no memory for the logs of ranges.");
    for (unsigned i = 0; i < collector_threads() && at < size; i++) {
        struct collector_log log = collector_log(i);
        size_t n = log.n * sizeof *log.events;
        n = n < size - at ? n : size - at; /* threads of the candidate may go on */
        memcpy(ret->data + at, log.events, n);
        at += n;
    }
    ret->size = size;
    return 0;
}

static json_t *costs_json(const struct collector_costs *c)
{
    return json_pack("{s:f, s:f, s:f, s:f}", "leaf_ns", c->range.leaf_ns, "complete_ns",
                     c->range.complete_ns, "call_leaf_ns", c->call.leaf_ns, "call_complete_ns",
                     c->call.complete_ns);
}

int profile_phase(const struct profile_target *target, const json_t *request, json_t **ret_json,
                  struct bytes *ret_log, kgrade_error *err)
{
    const char *phase = json_string_value(json_object_get(request, "phase"));
    json_int_t budget = json_integer_value(json_object_get(request, "budget_ms"));
    if (!phase || budget < 0 || budget > (json_int_t)PROFILE_MAX_BUDGET_MS)
        return fail(err, "wire_invalid", NULL, "A profile was asked for without a phase.");
    json_auto_t *blocks = json_array();
    struct figures f = {.end_to_end = blocks};
    collector_clear();
    if (strcmp(phase, "cold") ? warm(target, (uint64_t)budget * IO_NS_PER_MS, &f, err)
                              : cold(target, &f, err))
        return -1;
    json_t *threads = threads_json();
    if (copy_logs(ret_log, err)) {
        json_decref(threads);
        return -1;
    }
    *ret_json = json_pack("{s:s, s:f, s:I, s:I, s:o, s:o, s:O, s:o, s:I, s:o}", "clock",
                          collector_clock_name(), "tick_ns", collector_tick_ns(), "calls",
                          (json_int_t)f.calls, "block", (json_int_t)f.block, "before",
                          costs_json(&f.before), "after", costs_json(&f.after), "end_to_end",
                          blocks, "threads", threads, "threads_lost",
                          (json_int_t)collector_threads_lost(), "names", names_json());
    return *ret_json ? 0 : fail(err, "out_of_memory", NULL, "There is no memory for an answer.");
}

int profile_blocks(const struct profile_target *target, const json_t *request, json_t **ret_json,
                   kgrade_error *err)
{
    json_int_t blocks = json_integer_value(json_object_get(request, "blocks"));
    json_int_t calls = json_integer_value(json_object_get(request, "calls"));
    bool noted = json_is_true(json_object_get(request, "noted"));
    uint64_t ns, start = io_now();
    int failed = 0;
    if (blocks < 1 || blocks > PROFILE_MAX_BLOCKS || calls < 1 || calls > PROFILE_MAX_CALLS)
        return fail(err, "wire_invalid", NULL, "There cannot be so many calls in a block.");
    target->progress("warm");
    json_auto_t *times = json_array();
    if (noted)
        watch(target, true);
    for (json_int_t i = 0; i < blocks && !failed; i++) {
        collector_clear();
        failed = window(target, (unsigned)calls, noted, &ns, err);
        json_array_append_new(times, json_real((double)ns / (double)calls));
    }
    if (noted)
        watch(target, false);
    if (failed)
        return -1;
    *ret_json = json_pack("{s:O, s:I}", "ns", times, "wall_ns", (json_int_t)(io_now() - start));
    return *ret_json ? 0 : fail(err, "out_of_memory", NULL, "There is no memory for an answer.");
}
