#define _GNU_SOURCE
#include "replay.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/fail.h"

#define DEFAULT_REPLAY_TIMEOUT_S 60.0

static int largest_case(const struct task *task, const struct task_case *cases, size_t n,
                        uint64_t *ret, struct finding *f)
{
    kgrade_error err = {.code = ""};
    *ret = LAYOUT_PAGE;
    for (size_t i = 0; i < n; i++) {
        struct layout layout;
        if (task_layout(task, cases[i].dims, &layout, &err))
            return finding_infrastructure(f, &err);
        if (layout.bytes > *ret)
            *ret = layout.bytes;
    }
    return 0;
}

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

static int request(struct replay *r, json_t *json, const struct bytes *blob, bool candidate_runs,
                   struct worker_outcome *o, struct finding *f)
{
    worker_request(&r->worker, json, blob ? blob->data : NULL, blob ? blob->size : 0, -1,
                   io_now() + r->timeout_ns, o);
    return o->answer == WORKER_ANSWERED ? 0 : blame(r, o, candidate_runs, f);
}

int replay_open(kgrade *engine, const struct device *device, const struct task *task,
                const struct task_case *cases, size_t n_cases, struct replay *ret,
                struct finding *f)
{
    kgrade_error err = {.code = ""};
    uint64_t bytes;
    double seconds = engine->options.replay_timeout_s > 0 ? engine->options.replay_timeout_s
                                                          : DEFAULT_REPLAY_TIMEOUT_S;
    if (!ret->timeout_ns)
        ret->timeout_ns = (uint64_t)(seconds * (double)IO_NS_PER_S);
    if (largest_case(task, cases, n_cases, &bytes, f))
        return -1;
    if (worker_take(engine, device, STEP_REPLAY, &ret->worker, &err))
        return finding_infrastructure(f, &err);
    cleanup_outcome struct worker_outcome o;
    if (request(ret,
                json_pack("{s:s, s:s, s:I}", "op", "open", "task", task->text, "arena_bytes",
                          (json_int_t)bytes),
                NULL, false, &o, f)) {
        f->log = worker_log(&ret->worker);
        return -1;
    }
    ret->info = json_incref(json_object_get(o.message.json, "info"));
    ret->arena_fd = o.message.fd;
    o.message.fd = -1;
    if (!json_is_object(ret->info) || ret->arena_fd < 0)
        return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "worker_garbled", "Run `kgrade doctor`.",
                           "The replayer did not hand over an arena.");
    return 0;
}

int replay_give(struct replay *r, const struct bytes *recording, struct finding *f)
{
    cleanup_outcome struct worker_outcome o;
    return request(r, json_pack("{s:s}", "op", "recording"), recording, false, &o, f);
}

int replay_load(struct replay *r, const struct task *task, const int64_t *dims, struct finding *f)
{
    cleanup_outcome struct worker_outcome o;
    return request(
        r, json_pack("{s:s, s:o}", "op", "load", "dims", wire_dims_json(dims, task->n_dims)), NULL,
        true, &o, f);
}

int replay_prepare(struct replay *r, uint64_t seed, uint64_t poison, bool cold, struct finding *f)
{
    cleanup_outcome struct worker_outcome o;
    return request(r,
                   json_pack("{s:s, s:o, s:o, s:b}", "op", "prepare", "seed", wire_u64_json(seed),
                             "poison", wire_u64_json(poison), "cold", cold),
                   NULL, true, &o, f);
}

int replay_run(struct replay *r, bool empty, struct replay_time *ret, struct finding *f)
{
    cleanup_outcome struct worker_outcome o;
    uint64_t start = io_now();
    if (request(r, json_pack("{s:s, s:b}", "op", "run", "empty", empty), NULL, true, &o, f))
        return -1;
    ret->wall_ns = (double)(io_now() - start);
    ret->ns = (double)json_integer_value(json_object_get(o.message.json, "ns"));
    ret->is_void = json_is_true(json_object_get(o.message.json, "void"));
    return 0;
}

json_t *replay_ask(struct replay *r, const char *op, struct finding *f)
{
    cleanup_outcome struct worker_outcome o;
    if (request(r, json_pack("{s:s}", "op", op), NULL, true, &o, f))
        return NULL;
    return json_incref(o.message.json);
}

const char *replay_target(const struct replay *replay)
{
    const char *target = json_string_value(json_object_get(replay->info, "target"));
    return target ? target : "";
}

void replay_close(struct replay *r)
{
    worker_end(&r->worker);
    if (r->arena_fd >= 0)
        close(r->arena_fd);
    r->arena_fd = -1;
    json_decref(r->info);
    r->info = NULL;
}
