#define _GNU_SOURCE
#include "profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../build/build.h"
#include "../grade/health.h"
#include "../grade/jails.h"
#include "../grade/slot.h"
#include "../grade/telling.h"
#include "../record/record.h"
#include "../replay/replay.h"
#include "answer.h"
#include "control.h"
#include "rows.h"
#include "trace.h"
#include "worker.h"

#define MAX_NODEID 512

struct profile {
    kgrade *engine;
    const struct task *task;
    const struct device *device;
    const struct device_language *language;
    const kgrade_request *request;
    const struct task_case *task_case;
    kgrade_profile_options options;
    struct telling telling;
    struct bytes library;
    struct replay replay; /* what tells what to compile for */
    unsigned processes;   /* made so far */
    unsigned mistakes;    /* of ranges, in the phase at hand */
    char nodeid[MAX_NODEID];
    struct rows_common common;
    json_t *rows, *errors, *calibration; /* owned */
    json_t *trace, *control;             /* owned; NULL where not asked for */
    double cold_ns;                      /* sum over processes, of the noted call */
    double warm_ns;
    unsigned cold_calls, warm_calls, block;
    size_t warm_launches, cold_launches;
    const char *clock;
    struct finding finding;
};

static int stop_if_cancelled(struct profile *p, const char *step, size_t done, size_t total)
{
    return telling_proceed(&p->telling, step, done, total, &p->finding);
}

/* --- what is profiled --- */

/* The first benchmark case, or the first of all where there is none. */
static const struct task_case *choose_case(const struct task *task, const struct device *device)
{
    const struct task_case *first = NULL;
    for (size_t i = 0; i < task->n_cases; i++) {
        const struct task_case *c = &task->cases[i];
        if (!task_devices_include(c->devices, device->name))
            continue;
        if (c->kind == CASE_BENCHMARK)
            return c;
        first = first ? first : c;
    }
    return first;
}

static void name_node(struct profile *p)
{
    json_auto_t *dims = task_dims_json(p->task, p->task_case->dims);
    const char *key;
    json_t *value;
    size_t used =
        (size_t)snprintf(p->nodeid, sizeof p->nodeid, "%.100s[%s", p->task->name, p->device->name);
    json_object_foreach(dims, key, value) if (used + 64 < sizeof p->nodeid) used +=
        (size_t)snprintf(p->nodeid + used, sizeof p->nodeid - used, "-%.32s%lld", key,
                         (long long)json_integer_value(value));
    snprintf(p->nodeid + used, sizeof p->nodeid - used, "]");
    p->common = (struct rows_common){p->nodeid, p->task->name, p->device->name};
}

/* --- what came of a process --- */

static int note_mistake(struct profile *p, const char *phase, size_t thread,
                        const kgrade_error *err)
{
    size_t i;
    json_t *known;
    p->mistakes++;
    /* What happens in every process is told once. */
    json_array_foreach(p->errors, i, known)
    {
        if (!strcmp(json_string_value(json_object_get(known, "code")), err->code) &&
            !strcmp(json_string_value(json_object_get(known, "phase")), phase))
            return 0;
    }
    return json_array_append_new(
        p->errors, json_pack("{s:s, s:s, s:s, s:s, s:I, s:I}", "code", err->code, "message",
                             err->message, "hint", err->hint, "phase", phase, "process",
                             (json_int_t)p->processes, "thread", (json_int_t)thread));
}

static uint64_t first_tick(const struct span_logs *logs)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < logs->n_threads; i++)
        if (logs->n_events[i] && logs->events[i][0].ticks < first)
            first = logs->events[i][0].ticks;
    return first;
}

static int take_ranges(struct profile *p, const char *phase, const struct answer *a,
                       struct rows *rows, kgrade_error *err)
{
    char label[64];
    snprintf(label, sizeof label, "%s call%s, process %u", phase, a->calls > 1 ? "s" : "",
             p->processes);
    for (size_t thread = 0; thread < a->logs.n_threads; thread++) {
        cleanup_spans struct spans spans = {0};
        kgrade_error why = {.code = ""};
        if (spans_rebuild(&a->logs, thread, &spans, &why)) {
            if (!strcmp(why.code, "out_of_memory")) {
                *err = why;
                return -1;
            }
            note_mistake(p, phase, thread, &why);
            continue;
        }
        if (rows_add(rows, &spans, &a->logs, thread, a->tick_ns, err))
            return -1;
        if (p->trace && trace_add(p->trace, p->processes, label, thread, &spans, &a->logs,
                                  a->tick_ns, first_tick(&a->logs)))
            return fail(err, "out_of_memory", NULL, "There is no memory for a trace.");
    }
    return 0;
}

/* What was so far, or more where more was measured before or after the phase. */
static void add_observer(const struct answer *a, struct rows_observer *to)
{
    to->range_ns =
        fmax(to->range_ns, fmax(a->before.range.complete_ns, a->after.range.complete_ns));
    to->call_ns = fmax(to->call_ns, fmax(a->before.call.complete_ns, a->after.call.complete_ns));
}

static void keep_calibration(struct profile *p, const char *phase, const struct answer *a)
{
    json_object_set_new(
        p->calibration, phase,
        json_pack("{s:f, s:f, s:f, s:f, s:f, s:b}", "leaf_ns", a->before.range.leaf_ns,
                  "complete_ns", a->before.range.complete_ns, "complete_after_ns",
                  a->after.range.complete_ns, "call_leaf_ns", a->before.call.leaf_ns,
                  "call_complete_ns", a->before.call.complete_ns, "drifted", answer_drifted(a)));
    p->clock = strcmp(a->clock, "tsc") ? "monotonic" : "tsc";
}

/* --- phases --- */

static struct record_request request_of(const struct profile *p)
{
    return (struct record_request){.device = p->device,
                                   .task = p->task,
                                   .cases = p->task_case,
                                   .n_cases = 1,
                                   .profile = RECORD_PROFILE,
                                   .library = &p->library,
                                   .python =
                                       python_find(&p->engine->pythons, p->request->language)};
}

static int run_process(struct profile *p, const char *phase, struct wire_message *message,
                       struct answer *answer)
{
    kgrade_error err = {.code = ""};
    const struct record_request request = request_of(p);
    p->processes++;
    if (record_phase(p->engine, &request, phase, p->options.budget_ms, message, &p->finding))
        return -1;
    if (answer_read(message, answer, &err))
        return finding_set(&p->finding, KGRADE_REFUSED, err.code, err.hint, "%s", err.message);
    keep_calibration(p, phase, answer);
    return 0;
}

static int blame_memory(struct profile *p, const kgrade_error *err)
{
    if (strcmp(err->code, "too_many_ranges"))
        return finding_infrastructure(&p->finding, err);
    return finding_set(&p->finding, KGRADE_REFUSED, err->code, err->hint, "%s", err->message);
}

/* Rows only where every range of the phase nests. */
static int write_rows(struct profile *p, struct rows *rows, const char *phase,
                      const char *population, const struct rows_observer *observer)
{
    if (!p->mistakes && rows_write(rows, &p->common, phase, population, observer, p->rows))
        return finding_set(&p->finding, KGRADE_INFRASTRUCTURE_ERROR, "out_of_memory", NULL,
                           "There is no memory for a report.");
    return 0;
}

/* The median duration of the whole call, as its row has it; 0 when there is none. */
static double entry_median(const struct profile *p, const char *phase)
{
    size_t i;
    json_t *row;
    json_array_foreach(p->rows, i, row)
    {
        if (!strcmp(json_string_value(json_object_get(row, "range")), "candidate.entry") &&
            !strcmp(json_string_value(json_object_get(row, "phase")), phase) &&
            !strcmp(json_string_value(json_object_get(row, "metric")), "inclusive"))
            return json_number_value(json_object_get(row, "median"));
    }
    return 0;
}

static int cold(struct profile *p)
{
    cleanup_rows struct rows *rows = rows_new();
    kgrade_error err = {.code = ""};
    unsigned n = p->options.processes;
    struct rows_observer observer = {0};
    p->mistakes = 0;
    for (unsigned i = 0; rows && i < n; i++) {
        cleanup_message struct wire_message message = {.fd = -1};
        cleanup_answer struct answer answer = {.clock = NULL};
        if (stop_if_cancelled(p, "profiling", i, n + 1) ||
            run_process(p, "cold", &message, &answer))
            return -1;
        add_observer(&answer, &observer);
        if (take_ranges(p, "cold", &answer, rows, &err))
            return blame_memory(p, &err);
        p->cold_calls += answer.calls;
    }
    if (!rows)
        return finding_set(&p->finding, KGRADE_INFRASTRUCTURE_ERROR, "out_of_memory", NULL,
                           "There is no memory for ranges.");
    p->cold_launches = rows_launches(rows);
    return write_rows(p, rows, "cold", ROWS_COLD_POPULATION, &observer);
}

static int warm(struct profile *p)
{
    cleanup_rows struct rows *rows = rows_new();
    cleanup_message struct wire_message message = {.fd = -1};
    cleanup_answer struct answer a = {.clock = NULL};
    kgrade_error err = {.code = ""};
    p->mistakes = 0;
    if (!rows)
        return finding_set(&p->finding, KGRADE_INFRASTRUCTURE_ERROR, "out_of_memory", NULL,
                           "There is no memory for ranges.");
    if (stop_if_cancelled(p, "profiling", p->options.processes, p->options.processes + 1) ||
        run_process(p, "warm", &message, &a))
        return -1;
    if (take_ranges(p, "warm", &a, rows, &err))
        return blame_memory(p, &err);
    p->warm_calls = a.calls;
    p->block = a.block;
    p->warm_launches = rows_launches(rows);
    struct rows_observer observer = {0};
    add_observer(&a, &observer);
    if (write_rows(p, rows, "warm", ROWS_WARM_POPULATION, &observer))
        return -1;
    if (!a.n_end_to_end)
        return 0;
    json_auto_t *nothing_around = json_array();
    json_array_append_new(p->rows, rows_one(&p->common, "warm", "end_to_end", "inclusive", a.calls,
                                            a.end_to_end, a.n_end_to_end, ROWS_BLOCK_POPULATION, 0,
                                            0, nothing_around));
    p->warm_ns = json_number_value(
        json_object_get(json_array_get(p->rows, json_array_size(p->rows) - 1), "median"));
    return 0;
}

static int build_and_run(struct profile *p)
{
    bool cached;
    if (replay_open(p->engine, p->device, p->task, p->task_case, 1, &p->replay, &p->finding) ||
        stop_if_cancelled(p, "building", 0, 1) ||
        build_candidate(p->engine, p->device, p->language, replay_target(&p->replay),
                        p->request->source, p->request->source_size, &p->library, &cached,
                        &p->finding))
        return -1;
    if (cold(p) || warm(p))
        return -1;
    const struct record_request request = request_of(p);
    return p->options.control ? control_run(p->engine, &request, &p->control, &p->finding) : 0;
}

/* One after the other with grades: what a profile reads is as easily disturbed. */
static int hold_device(struct profile *p)
{
    struct device_slot *slot = engine_slot(p->engine, p->device);
    if (health_refuse(slot, &p->finding))
        return -1;
    /* Nothing is built yet, but nothing is done either: what waits for the device costs no time. */
    if (stop_if_cancelled(p, "building", 1, 1) || slot_take(slot))
        return telling_cancelled(&p->telling, &p->finding);
    bool admitted = health_admit(p->engine, slot, &p->finding) == 0;
    int failed = admitted ? build_and_run(p) : -1;
    jails_ask_while_waiting(NULL, NULL);
    replay_close(&p->replay);
    if (admitted && failed)
        health_after(p->engine, slot, &p->finding, p->telling.cancelled);
    slot_give(slot);
    return failed;
}

/* --- the report --- */

static json_t *reason_json(const struct finding *f)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s?}", "verdict", kgrade_verdict_name(f->verdict),
                     "code", f->reason.code, "message", f->reason.message, "hint", f->reason.hint,
                     "log", f->log);
}

static double per(double sum, unsigned n)
{
    return n ? sum / n : 0;
}

static json_t *report(const struct profile *p, bool failed)
{
    char hash[HASH_HEX];
    hash_hex(p->request->source, p->request->source_size, hash);
    double launches = per((double)p->warm_launches, p->warm_calls);
    return json_pack("{s:s, s:{s:s, s:s}, s:{s:s, s:s}, s:s, s:o, s:o, s:s?, s:O, "
                     "s:{s:I, s:I, s:I, s:f, s:f}, s:{s:f, s:f, s:f}, s:O, s:O, s:O?, s:O?}",
                     "schema", KGRADE_PROFILE_SCHEMA, "task", "name", p->task->name, "hash",
                     p->task->hash, "candidate", "hash", hash, "language", p->language->name,
                     "device", p->device->name, "dims", task_dims_json(p->task, p->task_case->dims),
                     "reason", failed ? reason_json(&p->finding) : json_null(), "clock", p->clock,
                     "calibration", p->calibration, "calls", "cold", (json_int_t)p->cold_calls,
                     "warm", (json_int_t)p->warm_calls, "block", (json_int_t)p->block,
                     "cold_launches", per((double)p->cold_launches, p->cold_calls), "warm_launches",
                     launches, "host", "cold_ns", entry_median(p, "cold"), "warm_ns", p->warm_ns,
                     "per_launch_ns", launches > 0 ? p->warm_ns / launches : 0, "rows", p->rows,
                     "errors", p->errors, "trace", p->trace, "control", p->control);
}

static void profile_free(struct profile *p)
{
    json_decref(p->rows);
    json_decref(p->errors);
    json_decref(p->calibration);
    json_decref(p->trace);
    json_decref(p->control);
    bytes_free(&p->library);
    finding_free(&p->finding);
}

int profile_source(kgrade *engine, const struct task *task, const struct device *device,
                   const struct device_language *language, const kgrade_request *request,
                   const kgrade_profile_options *options, kgrade_progress progress, void *data,
                   char **ret_json, kgrade_error *err)
{
    __attribute__((cleanup(profile_free))) struct profile p = {
        .engine = engine,
        .task = task,
        .device = device,
        .language = language,
        .request = request,
        .replay = REPLAY_NONE,
        .telling = {.progress = progress, .data = data, .what = "The profile"}};
    if (options)
        p.options = *options;
    if (p.options.processes > PROFILE_MAX_PROCESSES || p.options.budget_ms > PROFILE_MAX_BUDGET_MS)
        return fail(err, "bad_profile_options", "Leave them out to get the usual ones.",
                    "A profile takes at most %u processes, and %u ms of warm calls.",
                    PROFILE_MAX_PROCESSES, PROFILE_MAX_BUDGET_MS);
    if (!p.options.processes)
        p.options.processes = PROFILE_COLD_PROCESSES;
    if (!p.options.budget_ms)
        p.options.budget_ms = PROFILE_BUDGET_MS;
    p.task_case = choose_case(task, device);
    p.rows = json_array();
    p.errors = json_array();
    p.calibration = json_object();
    p.trace = p.options.trace ? trace_new() : NULL;
    if (!p.task_case)
        return fail(err, "task_not_for_device", NULL, "Task \"%s\" has no case for %s.", task->name,
                    device->name);
    name_node(&p);
    jails_ask_while_waiting(telling_again, &p.telling);
    int failed = hold_device(&p);
    jails_ask_while_waiting(NULL, NULL);
    if (p.telling.cancelled)
        return fail(err, "cancelled", NULL, "The profile was cancelled.");
    json_auto_t *json = report(&p, failed != 0);
    *ret_json = json ? json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    return *ret_json ? 0
                     : fail(err, "out_of_memory", NULL, "The report could not be written as JSON.");
}
