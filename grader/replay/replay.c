#define _GNU_SOURCE
#include "replay.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/fail.h"
#include "../grade/spec.h"

#define DEFAULT_REPLAY_TIMEOUT_S 60.0
/* Candidate and baseline take turns, so that each waits through the other's sample; most are over by then. */
#define AWAKE_NS (2 * IO_NS_PER_MS)
#define AWAKE_PROCESSES 3 /* at once: the grader and both replayers; as many are left for others */

/* The candidate's device code runs in the replayer, so its death is the candidate's fault once a call is loaded. */
static int blame(struct replay *r, const struct worker_outcome *o, bool candidate_runs,
                 struct finding *f)
{
    const json_t *json = o->message.json;
    const char *verdict = json_string_value(json_object_get(json, "verdict"));
    const char *code = json_string_value(json_object_get(json, "code"));
    const char *message = json_string_value(json_object_get(json, "message"));
    if (o->answer == WORKER_REFUSED && verdict && strcmp(verdict, "infrastructure_error")) {
        kgrade_verdict v = !strcmp(verdict, "refused")         ? KGRADE_REFUSED
                           : !strcmp(verdict, "runtime_error") ? KGRADE_RUNTIME_ERROR
                                                               : KGRADE_TIMEOUT;
        finding_set(f, v, code ? code : "replay_failed",
                    json_string_value(json_object_get(json, "hint")), "%s",
                    message ? message : "The replay failed.");
        f->told = true;
        return -1;
    }
    if (candidate_runs && o->answer == WORKER_LATE)
        return finding_set(
            f, KGRADE_TIMEOUT, "replay_timeout",
            "A kernel that ends for some inputs only must be mended: every replay has new ones.",
            "A replay did not finish within %.0f seconds.",
            (double)r->timeout_ns / (double)IO_NS_PER_S);
    if (candidate_runs && o->answer == WORKER_DIED && o->status.out_of_memory)
        return finding_set(f, KGRADE_RUNTIME_ERROR, "replay_out_of_memory",
                           "Make the work-groups or their private memory smaller.",
                           "A replay took more than %llu MiB of host memory.",
                           (unsigned long long)(o->status.peak_bytes >> 20));
    if (candidate_runs && o->answer == WORKER_DIED && o->status.end == JAIL_SIGNALLED &&
        o->status.code == SIGSYS)
        return finding_set(
            f, KGRADE_RUNTIME_ERROR, "replay_forbidden_call",
            "Kernels compute and end: they start nothing, and their source is the same whenever it "
            "is compiled (no __TIME__).",
            "A replay tried to start a process or a thread, or to handle a signal.");
    if (candidate_runs && o->answer == WORKER_DIED && o->status.end == JAIL_SIGNALLED)
        return finding_set(
            f, KGRADE_RUNTIME_ERROR, "replay_crashed",
            "Check index ranges in the kernels: they touched memory outside their buffers.",
            "A replay was killed by signal %d (%s).", o->status.code, strsignal(o->status.code));
    if (candidate_runs && (o->answer == WORKER_DIED || o->answer == WORKER_GARBLED))
        return finding_set(
            f, KGRADE_RUNTIME_ERROR, "replay_crashed",
            "Check index ranges in the kernels: they touched memory outside their buffers.",
            "The replaying process ended unexpectedly.");
    worker_fault(o, "replayer", f);
    f->told = o->answer == WORKER_REFUSED && candidate_runs;
    return -1;
}

static int request(struct replay *r, json_t *json, const struct bytes *blob, int fd,
                   bool candidate_runs, struct worker_outcome *o, struct finding *f)
{
    worker_request(&r->worker, json, blob ? blob->data : NULL, blob ? blob->size : 0, fd,
                   io_now() + r->timeout_ns, o);
    return o->answer == WORKER_ANSWERED ? 0 : blame(r, o, candidate_runs, f);
}

/* How long whoever waits in a grade stays awake.  Not where that would take the processors from those at work. */
static uint64_t awake_ns(const struct device *device)
{
    cpu_set_t set;
    bool has_room =
        !sched_getaffinity(0, sizeof set, &set) && CPU_COUNT(&set) >= 2 * AWAKE_PROCESSES;
    return device->stays_awake && has_room ? AWAKE_NS : 0;
}

/* `owner` NULL: the arena is the replayer's own. */
static int start(kgrade *engine, const struct device *device, const struct task *task,
                 uint64_t arena_bytes, const struct replay *owner, struct replay *ret,
                 struct finding *f)
{
    kgrade_error err = {.code = ""};
    double seconds = engine->options.replay_timeout_s > 0 ? engine->options.replay_timeout_s
                                                          : DEFAULT_REPLAY_TIMEOUT_S;
    if (!ret->timeout_ns)
        ret->timeout_ns = (uint64_t)(seconds * (double)IO_NS_PER_S);
    ret->device = device;
    if (owner)
        ret->workspace_bytes = owner->workspace_bytes;
    else if (!ret->workspace_bytes)
        ret->workspace_bytes = spec_workspace(device, task, false);
    if (worker_take(engine, device, STEP_REPLAY, NULL, &ret->worker, &err))
        return finding_infrastructure(f, &err);
    ret->worker.awake_ns = awake_ns(device);
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    if (request(ret,
                json_pack("{s:s, s:s, s:I, s:I, s:I}", "op", "open", "task", task->text,
                          "arena_bytes", (json_int_t)arena_bytes, "workspace_bytes",
                          (json_int_t)ret->workspace_bytes, "awake_ns",
                          (json_int_t)ret->worker.awake_ns),
                NULL, owner ? owner->arena_fd : -1, false, &o, f)) {
        f->log = worker_log(&ret->worker);
        return -1;
    }
    ret->info = json_incref(json_object_get(o.message.json, "info"));
    ret->arena_fd = o.message.fd;
    o.message.fd = -1;
    if (!json_is_object(ret->info) || (!owner && ret->arena_fd < 0))
        return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "worker_garbled", "Run `kgrade doctor`.",
                           "The replayer did not hand over an arena.");
    return 0;
}

int replay_open(kgrade *engine, const struct device *device, const struct task *task,
                const struct task_case *cases, size_t n_cases, struct replay *ret,
                struct finding *f)
{
    kgrade_error err = {.code = ""};
    uint64_t bytes;
    if (task_largest(task, cases, n_cases, &bytes, &err))
        return finding_infrastructure(f, &err);
    return start(engine, device, task, bytes, NULL, ret, f);
}

int replay_open_beside(kgrade *engine, const struct task *task, const struct replay *owner,
                       struct replay *ret, struct finding *f)
{
    return start(engine, owner->device, task, LAYOUT_PAGE, owner, ret, f);
}

int replay_give(struct replay *r, const struct bytes *recording, struct finding *f)
{
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    r->has_recording = true;
    return request(r, json_pack("{s:s}", "op", "recording"), recording, -1, false, &o, f);
}

int replay_pack(struct replay *r, struct bytes *ret, struct finding *f)
{
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    *ret = (struct bytes){0};
    if (!r->device->runs_in_replayer)
        return 0;
    if (request(r, json_pack("{s:s}", "op", "pack"), NULL, -1, true, &o, f))
        return -1;
    *ret = o.message.blob;
    o.message.blob = (struct bytes){0};
    return 0;
}

int replay_confine(struct replay *r, const struct bytes *code, struct finding *f)
{
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    return r->device->runs_in_replayer
               ? request(r, json_pack("{s:s}", "op", "confine"), code, -1, false, &o, f)
               : 0;
}

int replay_feed(struct replay *r, int inputs_fd, replay_feeder *feeder, void *data,
                struct finding *f)
{
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    r->feeder = feeder;
    r->feeder_data = data;
    return request(r, json_pack("{s:s}", "op", "inputs"), NULL, inputs_fd, false, &o, f);
}

static int no_feeder(void *data, const struct task *task, const struct task_case *c, uint64_t seed,
                     struct finding *f)
{
    (void)data, (void)task, (void)c, (void)seed;
    return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "no_inputs", NULL,
                       "A sample was to be prepared without a judge to make its inputs.");
}

void replay_starve(struct replay *r)
{
    if (r->feeder)
        r->feeder = no_feeder;
}

int replay_load(struct replay *r, const struct task *task, const struct task_case *c,
                struct finding *f)
{
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    r->task = task;
    r->at = *c;
    return request(r,
                   json_pack("{s:s, s:o, s:I}", "op", "load", "dims",
                             wire_dims_json(c->dims, task->n_dims), "values",
                             (json_int_t)c->values),
                   NULL, -1, true, &o, f);
}

int replay_prepare(struct replay *r, uint64_t seed, uint64_t poison, bool cold, struct finding *f)
{
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    if (r->feeder && r->feeder(r->feeder_data, r->task, &r->at, seed, f))
        return -1;
    return request(r,
                   json_pack("{s:s, s:o, s:o, s:b}", "op", "prepare", "seed", wire_u64_json(seed),
                             "poison", wire_u64_json(poison), "cold", cold),
                   NULL, -1, true, &o, f);
}

int replay_run(struct replay *r, bool empty, struct replay_time *ret, struct finding *f)
{
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    uint64_t start = io_now();
    if (request(r, json_pack("{s:s, s:b}", "op", "run", "empty", empty), NULL, -1, r->has_recording,
                &o, f))
        return -1;
    ret->wall_ns = (double)(io_now() - start);
    ret->ns = (double)json_integer_value(json_object_get(o.message.json, "ns"));
    ret->is_void = json_is_true(json_object_get(o.message.json, "void"));
    ret->left_ns = (double)json_integer_value(json_object_get(o.message.json, "left_ns"));
    return 0;
}

int replay_batch(struct replay *r, size_t n, uint64_t seed, uint64_t poison, bool empty,
                 size_t *ret_n, double *ret_wall_ns, struct finding *f)
{
    cleanup_outcome struct worker_outcome made = WORKER_OUTCOME_NONE, ran = WORKER_OUTCOME_NONE;
    *ret_n = 0;
    *ret_wall_ns = 0;
    if (r->feeder) /* a foreign task's inputs are made for one sample at a time */
        return 0;
    if (request(r,
                json_pack("{s:s, s:I, s:o, s:o, s:b}", "op", "batch", "n", (json_int_t)n, "seed",
                          wire_u64_json(seed), "poison", wire_u64_json(poison), "empty", empty),
                NULL, -1, true, &made, f))
        return -1;
    json_int_t got = json_integer_value(json_object_get(made.message.json, "n"));
    *ret_n = got > 0 && got <= (json_int_t)n ? (size_t)got : 0;
    if (*ret_n == 0)
        return 0;
    uint64_t start = io_now();
    if (request(r, json_pack("{s:s}", "op", "run_batch"), NULL, -1, true, &ran, f))
        return -1;
    *ret_wall_ns = (double)(io_now() - start);
    return 0;
}

json_t *replay_ask(struct replay *r, const char *op, struct finding *f)
{
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    if (request(r, json_pack("{s:s}", "op", op), NULL, -1, true, &o, f))
        return NULL;
    return json_incref(o.message.json);
}

const char *replay_target(const struct replay *replay)
{
    const char *target = json_string_value(json_object_get(replay->info, "target"));
    return target ? target : "";
}

double replay_resolution_ns(const struct replay *replay)
{
    return json_number_value(json_object_get(replay->info, "resolution_ns"));
}

void replay_close(struct replay *r)
{
    worker_end(&r->worker);
    r->feeder = NULL;
    if (r->arena_fd >= 0)
        close(r->arena_fd);
    r->arena_fd = -1;
    json_decref(r->info);
    r->info = NULL;
}
