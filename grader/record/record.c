#define _GNU_SOURCE
#include "record.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../grade/jails.h"
#include "../grade/spec.h"
#include "../measure/statistics.h"

#define DEFAULT_RECORD_TIMEOUT_S 20.0
#define DEFAULT_PYTHON_RECORD_TIMEOUT_S                                                            \
    120.0                  /* frameworks are imported and kernels compiled in the first call */
#define PHASE_BUDGETS 4ull /* a phase spends its budget twice, the second time with notes */
#define SESSION_LIFE_NS (600 * IO_NS_PER_S)

static uint64_t step_ns(const kgrade *engine, const struct python *python)
{
    double seconds = engine->options.record_timeout_s > 0 ? engine->options.record_timeout_s
                     : python                             ? DEFAULT_PYTHON_RECORD_TIMEOUT_S
                                                          : DEFAULT_RECORD_TIMEOUT_S;
    return (uint64_t)(seconds * (double)IO_NS_PER_S);
}

/* Where the candidate was, in words.  The stage comes from the candidate's process: good enough for a message to its author. */
static const char *where(const char *stage)
{
    static const char *const words[][2] = {{"loading", "while it was loaded"},
                                           {"first_call", "in its first call"},
                                           {"first_call_wait", "in the kernels of its first call"},
                                           {"warm", "in a later call"},
                                           {"warm_wait", "in a later call"},
                                           {"capture", "in a later call"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strcmp(words[i][0], stage))
            return words[i][1];
    return "before its first call";
}

static int blame_timeout(const char *stage, double seconds, struct finding *f)
{
    if (!strcmp(stage, "loading"))
        return finding_set(f, KGRADE_TIMEOUT, "load_timeout",
                           "Do no work in constructors and static initialisers, nor at the top of "
                           "a module.",
                           "The candidate did not load within %.0f seconds.", seconds);
    if (strstr(stage, "_wait"))
        return finding_set(f, KGRADE_TIMEOUT, "kernel_timeout",
                           "Check loop bounds and synchronisation in the kernels.",
                           "The candidate's kernels did not finish within %.0f seconds.", seconds);
    return finding_set(
        f, KGRADE_TIMEOUT, "host_timeout", "The entry point must enqueue its work and return.",
        "The candidate did not return within %.0f seconds, %s.", seconds, where(stage));
}

static int blame_death(const struct jail_status *status, const char *stage, struct finding *f)
{
    if (status->end == JAIL_NOT_STARTED)
        return finding_infrastructure(f, &status->error);
    if (status->out_of_memory)
        return finding_set(f, KGRADE_RUNTIME_ERROR, "host_out_of_memory",
                           "Keep data on the device, and free what is not needed any more.",
                           "The candidate took more than %llu MiB of host memory, %s.",
                           (unsigned long long)(status->peak_bytes >> 20), where(stage));
    if (status->end == JAIL_EXITED)
        return finding_set(
            f, KGRADE_RUNTIME_ERROR, "exited", "Return from the entry point; do not call exit.",
            "The candidate ended the process with status %d, %s.", status->code, where(stage));
    if (status->code == SIGXFSZ)
        return finding_set(f, KGRADE_RUNTIME_ERROR, "output_flood", "Print less.",
                           "The candidate wrote more than it may, to its output or to a file.");
    const char *code = !strcmp(stage, "loading")      ? "crashed_at_load"
                       : strstr(stage, "_wait")       ? "crashed_in_kernel"
                       : !strcmp(stage, "first_call") ? "crashed_in_call"
                       : !strcmp(stage, "warm") || !strcmp(stage, "capture")
                           ? "crashed_in_later_call"
                           : "crashed";
    return finding_set(f, KGRADE_RUNTIME_ERROR, code,
                       "Check pointers, sizes and return codes of every call.",
                       "The candidate was killed by signal %d (%s), %s.", status->code,
                       strsignal(status->code), where(stage));
}

static kgrade_verdict parse_verdict(const char *text)
{
    static const kgrade_verdict allowed[] = {KGRADE_REFUSED, KGRADE_RUNTIME_ERROR,
                                             KGRADE_BUILD_FAILED, KGRADE_INFRASTRUCTURE_ERROR};
    for (size_t i = 0; text && i < sizeof allowed / sizeof allowed[0]; i++)
        if (!strcmp(kgrade_verdict_name(allowed[i]), text))
            return allowed[i];
    return KGRADE_REFUSED;
}

/* What a step of the conversation came to, when it is not an answer. */
static int blame(uint64_t allowed_ns, const struct worker_outcome *o, const char *stage,
                 struct finding *f)
{
    const json_t *json = o->message.json;
    const char *code = json_string_value(json_object_get(json, "code"));
    const char *message = json_string_value(json_object_get(json, "message"));
    if (o->stage[0])
        stage = o->stage;
    switch (o->answer) {
    case WORKER_REFUSED:
        finding_set(f, parse_verdict(json_string_value(json_object_get(json, "verdict"))),
                    code ? code : "refused", json_string_value(json_object_get(json, "hint")), "%s",
                    message ? message : "The candidate was refused.");
        f->told = true;
        return -1;
    case WORKER_LATE:
        return blame_timeout(stage, (double)allowed_ns / (double)IO_NS_PER_S, f);
    case WORKER_DIED:
        return blame_death(&o->status, stage, f);
    case WORKER_CANCELLED:
        return worker_fault(o, "recorder", f);
    case WORKER_ANSWERED:
    case WORKER_GARBLED:
        break;
    }
    return finding_set(f, KGRADE_REFUSED, "recorder_tampered",
                       "Leave the descriptors of the process alone.",
                       "The recorder sent something that is not a message.");
}

static void read_overhead(const json_t *json, struct host_overhead *ret)
{
    const json_t *warm = json_object_get(json, "warm_ns");
    size_t n = json_array_size(warm);
    cleanup_free double *times = calloc(n + 1, sizeof *times);
    *ret = (struct host_overhead){
        .cold_ns = (uint64_t)json_integer_value(json_object_get(json, "cold_ns")),
        .calls = (unsigned)n};
    if (!times || n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        times[i] = (double)json_integer_value(json_array_get(warm, i));
    statistics_sort(times, n);
    ret->warm_ns = statistics_quantile(times, n, 0.5);
    ret->warm_p90_ns = statistics_quantile(times, n, 0.9);
}

/* Takes the call that came, if it is a recording of what was asked.  `earlier`: where its other calls are. */
static int take_call(const struct wire_message *message, const struct record_request *request,
                     const struct task_case *c, const struct recording *earlier,
                     struct recording *recording, struct finding *f)
{
    kgrade_error err = {.code = ""};
    cleanup_recording struct recording *one = NULL;
    if (recording_parse_part(message->blob.data, message->blob.size, &one, &err))
        return finding_set(f, KGRADE_REFUSED, err.code, err.hint, "%s", err.message);
    if (one->n_calls != 1 || one->n_dims != request->task->n_dims ||
        memcmp(one->calls[0].dims, c->dims, one->n_dims * sizeof c->dims[0]))
        return finding_set(f, KGRADE_REFUSED, "recorder_tampered",
                           "Leave the descriptors of the process alone.",
                           "The recording is not of the call that was asked for.");
    if (earlier != recording && recording_complete(one, earlier, &err))
        return finding_infrastructure(f, &err);
    if (recording_merge(recording, one, &err))
        return finding_set(f, KGRADE_REFUSED, err.code, err.hint, "%s", err.message);
    return 0;
}

static json_t *profile_json(enum record_profile profile)
{
    return profile == RECORD_PROFILE_PLAIN ? json_string("plain")
                                           : json_boolean(profile == RECORD_PROFILE);
}

static int load(kgrade *engine, const struct record_request *request, struct worker *worker,
                struct finding *f)
{
    kgrade_error err = {.code = ""};
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    cleanup_close int library =
        jails_memory_file("candidate.so", request->library->data, request->library->size, &err);
    if (library < 0)
        return finding_infrastructure(f, &err);
    worker_request(worker, json_pack("{s:s}", "op", "load"), NULL, 0, library,
                   io_now() + step_ns(engine, request->python), &o);
    return o.answer == WORKER_ANSWERED ? 0
                                       : blame(step_ns(engine, request->python), &o, "loading", f);
}

/* Without what a rehearsal left the candidate compiles for itself. */
static int plant(kgrade *engine, const struct record_request *request, struct worker *worker,
                 struct finding *f)
{
    for (size_t i = 0; i < RECORD_MAX_SEEDS; i++) {
        kgrade_error err = {.code = ""};
        cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
        const struct bytes *seed = request->seeds[i];
        if (!seed || !seed->size)
            continue;
        cleanup_close int fd = jails_memory_file("seed", seed->data, seed->size, &err);
        if (fd < 0)
            return finding_infrastructure(f, &err);
        worker_request(worker, json_pack("{s:s}", "op", "seed"), NULL, 0, fd,
                       io_now() + step_ns(engine, request->python), &o);
        if (o.answer != WORKER_ANSWERED)
            return worker_fault(&o, "recorder", f);
    }
    return 0;
}

static int make_opening(const struct record_request *request, json_t **ret, struct finding *f)
{
    kgrade_error err = {.code = ""};
    uint64_t arena_bytes, again_bytes = 0;
    if (task_largest(request->task, request->cases, request->n_cases, &arena_bytes, &err) ||
        (request->again && task_largest(request->task, request->again, 1, &again_bytes, &err)))
        return finding_infrastructure(f, &err);
    if (again_bytes > arena_bytes)
        arena_bytes = again_bytes;
    *ret = json_pack(
        "{s:s, s:s, s:I, s:I, s:o}", "op", "open", "task", request->task->text, "arena_bytes",
        (json_int_t)arena_bytes, "workspace_bytes",
        (json_int_t)spec_workspace(request->device, request->task, request->python != NULL),
        "profile", profile_json(request->profile));
    return 0;
}

static int open_and_load(kgrade *engine, const struct record_request *request,
                         struct worker *worker, struct finding *f)
{
    json_t *opening;
    if (make_opening(request, &opening, f))
        return -1;
    {
        cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
        worker_request(worker, opening, NULL, 0, -1, io_now() + step_ns(engine, request->python),
                       &o);
        if (o.answer != WORKER_ANSWERED)
            return worker_fault(&o, "recorder", f);
    }
    return plant(engine, request, worker, f) || load(engine, request, worker, f) ? -1 : 0;
}

int record_ask(kgrade *engine, const struct record_request *request, struct record_opening *ret,
               struct finding *f)
{
    kgrade_error err = {.code = ""};
    json_t *opening;
    if (worker_take(engine, request->device, STEP_RECORD, request->python, &ret->worker, &err))
        return finding_infrastructure(f, &err);
    if (make_opening(request, &opening, f))
        return -1;
    ret->is_open = false;
    worker_ask(&ret->worker, opening, NULL, 0, io_now() + step_ns(engine, request->python),
               &ret->question);
    return 0;
}

int record_hear(kgrade *engine, const struct record_request *request,
                struct record_opening *opening, struct finding *f)
{
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    if (!opening->worker.jail || opening->is_open)
        return 0;
    worker_hear(&opening->worker, &opening->question, io_now() + step_ns(engine, request->python),
                &o);
    opening->is_open = o.answer == WORKER_ANSWERED;
    return opening->is_open ? 0 : worker_fault(&o, "recorder", f);
}

/* A recorder with the candidate in it. */
static int begin(kgrade *engine, const struct record_request *request, struct worker *ret,
                 struct finding *f)
{
    static const struct worker none = WORKER_NONE;
    kgrade_error err = {.code = ""};
    struct record_opening *opening = request->opening;
    if (!opening || !opening->worker.jail)
        return worker_take(engine, request->device, STEP_RECORD, request->python, ret, &err)
                   ? finding_infrastructure(f, &err)
                   : open_and_load(engine, request, ret, f);
    if (record_hear(engine, request, opening, f))
        return -1;
    *ret = opening->worker;
    opening->worker = none;
    return plant(engine, request, ret, f) || load(engine, request, ret, f) ? -1 : 0;
}

static unsigned count_launches(const struct recording_call *call)
{
    unsigned n = 0;
    for (size_t i = 0; call && i < call->n_nodes; i++)
        n += call->nodes[i].kind == NODE_KERNEL;
    return n;
}

static int record_one(kgrade *engine, const struct record_request *request,
                      const struct task_case *c, struct worker *worker,
                      const struct recording *earlier, struct recording *recording,
                      struct host_overhead *overhead, struct finding *f)
{
    uint64_t seed;
    io_random(&seed, sizeof seed);
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    worker_request(worker,
                   json_pack("{s:s, s:o, s:o, s:I}", "op", "record", "dims",
                             wire_dims_json(c->dims, request->task->n_dims), "seed",
                             wire_u64_json(seed), "warm", (json_int_t)request->warm_calls),
                   NULL, 0, -1, io_now() + step_ns(engine, request->python), &o);
    if (o.answer != WORKER_ANSWERED)
        return blame(step_ns(engine, request->python), &o, "call", f);
    read_overhead(o.message.json, overhead);
    if (take_call(&o.message, request, c, earlier, recording, f))
        return -1;
    overhead->launches = count_launches(recording_find_call(recording, c->dims));
    return 0;
}

/* The log is complete only when nobody is left to write to it. */
static int keep_log(struct worker *worker, struct finding *f)
{
    jail_free(worker->jail);
    worker->jail = NULL;
    free(f->log);
    f->log = worker_log(worker);
    return -1;
}

/* What a call costs the host is the same for equal cases, of which the first was recorded. */
static void copy_overhead(const struct record_request *request, struct host_overhead *overheads,
                          size_t to)
{
    size_t size = request->task->n_dims * sizeof request->cases[to].dims[0];
    for (size_t i = 0; i < to; i++)
        if (!memcmp(request->cases[i].dims, request->cases[to].dims, size)) {
            overheads[to] = overheads[i];
            return;
        }
}

int record_cases(kgrade *engine, const struct record_request *request, struct recording *recording,
                 struct host_overhead *overheads, record_progress progress, void *data,
                 struct finding *f)
{
    cleanup_worker struct worker worker = WORKER_NONE;
    int result = begin(engine, request, &worker, f);
    for (size_t i = 0; !result && i < request->n_cases; i++) {
        if (recording_find_call(recording, request->cases[i].dims)) {
            copy_overhead(request, overheads, i);
            continue;
        }
        if (progress && !progress(data, i))
            result = finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "cancelled", NULL,
                                 "The grade was cancelled.");
        else
            result = record_one(engine, request, &request->cases[i], &worker, recording, recording,
                                &overheads[i], f);
    }
    /* Last: a large case would leave scratch memory behind that every case after it carries along. */
    if (!result && request->again) {
        struct host_overhead unused;
        result = record_one(engine, request, request->again, &worker, recording, request->ret_again,
                            &unused, f);
    }
    if (!result) {
        if (request->graves)
            worker_bury(&worker, request->graves);
        return 0;
    }
    return request->secret ? finding_hide(f) : keep_log(&worker, f);
}

uint64_t record_phase_ns(const kgrade *engine, const struct python *python, unsigned budget_ms)
{
    return step_ns(engine, python) + PHASE_BUDGETS * budget_ms * IO_NS_PER_MS;
}

int record_phase(kgrade *engine, const struct record_request *request, const char *phase,
                 unsigned budget_ms, struct wire_message *ret, struct finding *f)
{
    kgrade_error err = {.code = ""};
    uint64_t seed, allowed_ns = record_phase_ns(engine, request->python, budget_ms);
    cleanup_worker struct worker worker = WORKER_NONE;
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    io_random(&seed, sizeof seed);
    if (worker_take(engine, request->device, STEP_RECORD, request->python, &worker, &err))
        return finding_infrastructure(f, &err);
    if (open_and_load(engine, request, &worker, f))
        return keep_log(&worker, f);
    worker_request(&worker,
                   json_pack("{s:s, s:o, s:o, s:s, s:I}", "op", "profile", "dims",
                             wire_dims_json(request->cases[0].dims, request->task->n_dims), "seed",
                             wire_u64_json(seed), "phase", phase, "budget_ms",
                             (json_int_t)budget_ms),
                   NULL, 0, -1, io_now() + allowed_ns, &o);
    if (o.answer != WORKER_ANSWERED) {
        blame(allowed_ns, &o, "call", f);
        return keep_log(&worker, f);
    }
    *ret = o.message;
    o.message = (struct wire_message){.fd = -1};
    return 0;
}

/* --- sessions --- */

static int take_recorder(kgrade *engine, const struct record_request *request,
                         struct worker *worker, kgrade_error *err)
{
    struct device device = *request->device;
    if (request->profile != RECORD_PROFILE_PLAIN)
        return worker_take(engine, request->device, STEP_RECORD, request->python, worker, err);
    device.recorder = device.plain_recorder;
    return worker_start(engine, &device, STEP_RECORD, request->python, SESSION_LIFE_NS, worker,
                        err);
}

static int ask_for_blocks(struct record_session *session, json_t *request, unsigned blocks,
                          double *ret_ns, uint64_t *ret_wall_ns, struct finding *f)
{
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    worker_request(&session->worker, request, NULL, 0, -1,
                   io_now() + step_ns(session->engine, session->python), &o);
    if (o.answer != WORKER_ANSWERED) {
        blame(step_ns(session->engine, session->python), &o, "call", f);
        return keep_log(&session->worker, f);
    }
    const json_t *times = json_object_get(o.message.json, "ns");
    json_int_t wall = json_integer_value(json_object_get(o.message.json, "wall_ns"));
    cleanup_free double *ns = calloc(blocks, sizeof *ns);
    bool ok = ns && json_array_size(times) == blocks && wall >= 0;
    for (size_t i = 0; ok && i < blocks; i++) {
        ns[i] = json_number_value(json_array_get(times, i));
        ok = isfinite(ns[i]) && ns[i] >= 0;
    }
    if (!ok)
        return finding_set(f, KGRADE_REFUSED, "recorder_tampered",
                           "Leave the descriptors of the process alone.",
                           "The times that came are none.");
    statistics_sort(ns, blocks);
    *ret_ns = statistics_quantile(ns, blocks, 0.5);
    *ret_wall_ns = (uint64_t)wall;
    return 0;
}

int record_session_begin(kgrade *engine, const struct record_request *request,
                         struct record_session *ret, struct finding *f)
{
    kgrade_error err = {.code = ""};
    uint64_t seed, wall_ns;
    double ns;
    io_random(&seed, sizeof seed);
    if (take_recorder(engine, request, &ret->worker, &err))
        return finding_infrastructure(f, &err);
    ret->engine = engine;
    ret->python = request->python;
    if (open_and_load(engine, request, &ret->worker, f))
        return keep_log(&ret->worker, f);
    return ask_for_blocks(ret,
                          json_pack("{s:s, s:o, s:o, s:i, s:i, s:b}", "op", "blocks", "dims",
                                    wire_dims_json(request->cases[0].dims, request->task->n_dims),
                                    "seed", wire_u64_json(seed), "blocks", 1, "calls", 1, "noted",
                                    0),
                          1, &ns, &wall_ns, f);
}

int record_blocks(struct record_session *session, unsigned blocks, unsigned calls, bool noted,
                  double *ret_ns, uint64_t *ret_wall_ns, struct finding *f)
{
    return ask_for_blocks(session,
                          json_pack("{s:s, s:I, s:I, s:b}", "op", "blocks", "blocks",
                                    (json_int_t)blocks, "calls", (json_int_t)calls, "noted", noted),
                          blocks, ret_ns, ret_wall_ns, f);
}

void record_session_end(struct record_session *session)
{
    worker_end(&session->worker);
}
