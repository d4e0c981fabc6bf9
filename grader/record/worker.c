#define _GNU_SOURCE
#include "worker.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/fail.h"
#include "../profile/worker.h"
#include "../task/call.h"
#include "../worker_io.h"

#define RECORD_MAX_WARM_CALLS 1000u
/* Slow calls are made less often: no more begin after so long, which is well within the deadline of a case. */
#define RECORD_WARM_NS (1 * IO_NS_PER_S)

struct recorder {
    const struct record_device *device;
    const struct record_host *host;
    void *state; /* the device's */
    struct task *task;
    struct call *call;
    void (*entry)(void);
    bool profiles;                      /* opened for a profile: then nothing is recorded */
    struct recording_known handed_over; /* in earlier answers */
};

static int open_task(struct recorder *r, const json_t *request, kgrade_error *err)
{
    const char *text = json_string_value(json_object_get(request, "task"));
    json_int_t bytes = json_integer_value(json_object_get(request, "arena_bytes"));
    if (r->task || !text || bytes <= 0)
        return fail(err, "wire_invalid", NULL, "The recorder was not opened with one task.");
    if (task_parse(text, strlen(text), "task.json", &r->task, err) ||
        r->host->open(r->task, &r->call, err))
        return -1;
    r->task->workspace_bytes =
        (uint64_t)json_integer_value(json_object_get(request, "workspace_bytes"));
    const json_t *profile = json_object_get(request, "profile");
    r->profiles = json_is_true(profile) || json_is_string(profile);
    if (json_is_true(profile) && profile_open(err))
        return -1;
    return worker_started(err) ? -1 : r->device->open(r->task, (uint64_t)bytes, &r->state, err);
}

static int load_candidate(struct recorder *r, int fd, uint64_t *ret_ns, kgrade_error *err)
{
    uint64_t start = io_now();
    if (r->host->load(r->task, fd, &r->entry, err))
        return -1;
    *ret_ns = io_now() - start;
    return 0;
}

static void progress(const char *stage)
{
    wire_send(WORKER_SOCKET, json_pack("{s:s}", "stage", stage), NULL, 0, -1,
              io_now() + WORKER_SEND_NS, NULL);
}

/* Whether the host code gave up in a call since the last time. */
static bool host_failed(const struct recorder *r, kgrade_error *err)
{
    return r->host->called && r->host->called(err);
}

/* The host code gave up.  That may be because the device refused something or failed: then this is the reason. */
static int blame_device(struct recorder *r, enum record_mode mode, struct recording *recording,
                        kgrade_error *err)
{
    kgrade_error refusal = {.code = ""}, denial = {.code = ""};
    if (r->device->end(r->state, mode, recording, &refusal) &&
        strcmp(refusal.code, "nothing_enqueued"))
        *err = refusal;
    if (r->device->denied && r->device->denied(r->state, &denial))
        *err = denial;
    return -1;
}

static int one_call(struct recorder *r, enum record_mode mode, struct recording *recording,
                    uint64_t *ret_ns, const char *wait_stage, kgrade_error *err)
{
    if (r->device->begin(r->state, mode, err))
        return -1;
    uint64_t start = io_now();
    call_invoke(r->call, r->entry);
    *ret_ns = io_now() - start;
    if (wait_stage)
        progress(wait_stage);
    if (host_failed(r, err))
        return blame_device(r, mode, recording, err);
    return r->device->end(r->state, mode, recording, err);
}

/* Buffers and arguments of a case. */
static int prepare_case(struct recorder *r, const json_t *request, int64_t dims[TASK_MAX_PARAMS],
                        kgrade_error *err)
{
    struct layout layout;
    if (wire_dims(request, r->task->n_dims, dims, err) ||
        task_layout(r->task, dims, &layout, err) ||
        r->device->prepare(r->state, dims, &layout, wire_u64(request, "seed"), err))
        return -1;
    void *pointers[TASK_MAX_PARAMS] = {NULL};
    for (size_t i = 0; i < r->task->n_params; i++) {
        enum param_kind kind = r->task->params[i].kind;
        if (kind != PARAM_DIM && kind != PARAM_SCALAR)
            pointers[i] = r->device->argument(r->state, i);
    }
    return r->host->prepare(r->task, r->call, dims, pointers, err);
}

static int profile_blocks_of_case(struct recorder *r, const json_t *request, kgrade_error *err)
{
    int64_t dims[TASK_MAX_PARAMS];
    uint64_t ns;
    json_t *answer = NULL;
    if (!r->entry || !r->profiles)
        return fail(err, "wire_invalid", NULL, "The recorder was not opened for a profile.");
    bool is_first = json_object_get(request, "dims") != NULL;
    if (is_first && prepare_case(r, request, dims, err))
        return -1;
    if (is_first)
        progress("first_call");
    if (is_first && one_call(r, RECORD_EXECUTE, NULL, &ns, "first_call_wait", err))
        return -1;
    const struct profile_target target = {r->device, r->state, r->call, r->entry, progress};
    if (profile_blocks(&target, request, &answer, err))
        return -1;
    if (host_failed(r, err)) {
        json_decref(answer);
        return -1;
    }
    return worker_ok(answer, NULL, 0, -1);
}

static int profile_case(struct recorder *r, const json_t *request, kgrade_error *err)
{
    int64_t dims[TASK_MAX_PARAMS];
    json_t *answer = NULL;
    cleanup_bytes struct bytes log = {0};
    if (!r->entry || !r->profiles)
        return fail(err, "wire_invalid", NULL, "The recorder was not opened for a profile.");
    const struct profile_target target = {r->device, r->state, r->call, r->entry, progress};
    if (prepare_case(r, request, dims, err) || profile_phase(&target, request, &answer, &log, err))
        return -1;
    if (host_failed(r, err)) {
        json_decref(answer);
        return -1;
    }
    return worker_ok(answer, log.data, log.size, -1);
}

static int record_case(struct recorder *r, const json_t *request, kgrade_error *err)
{
    int64_t dims[TASK_MAX_PARAMS];
    json_int_t warm = json_integer_value(json_object_get(request, "warm"));
    if (!r->entry || r->profiles || warm < 0 || warm > RECORD_MAX_WARM_CALLS)
        return fail(err, "wire_invalid", NULL,
                    "A case was to be recorded before the candidate was loaded.");
    if (prepare_case(r, request, dims, err))
        return -1;
    uint64_t cold = 0, once = 0;
    progress("first_call");
    if (one_call(r, RECORD_EXECUTE, NULL, &cold, "first_call_wait", err))
        return -1;
    progress("warm");
    json_t *times = json_array();
    uint64_t began = io_now();
    for (json_int_t i = 0; i < warm && (i == 0 || io_now() - began < RECORD_WARM_NS); i++) {
        if (i == 1)
            progress(
                "warm"); /* the first told of its wait; from here on the calls are left alone */
        if (one_call(r, RECORD_EXECUTE, NULL, &once, i ? NULL : "warm_wait", err)) {
            json_decref(times);
            return -1;
        }
        json_array_append_new(times, json_integer((json_int_t)once));
    }
    progress("capture");
    cleanup_recording struct recording *recording = recording_new(r->device->name, r->task);
    cleanup_bytes struct bytes file = {0};
    if (!recording || !recording_add_call(recording, dims)) {
        json_decref(times);
        return fail(err, "out_of_memory", NULL, "No memory for a recording.");
    }
    recording->known = &r->handed_over;
    if (one_call(r, RECORD_CAPTURE, recording, &once, NULL, err) ||
        recording_write(recording, &file, err)) {
        json_decref(times);
        return -1;
    }
    /* Without memory for the list, later ones have all in them. */
    recording_know(&r->handed_over, recording);
    return worker_ok(json_pack("{s:I, s:o}", "cold_ns", (json_int_t)cold, "warm_ns", times),
                     file.data, file.size, -1);
}

/* Errors of the machine, as opposed to what a candidate did. */
static const char *verdict_of(const kgrade_error *err)
{
    static const char *const machine[] = {"wire_invalid",  "io_failed",     "io_closed",
                                          "out_of_memory", "device_failed", "arena_failed",
                                          "python_unfit"};
    for (size_t i = 0; i < sizeof machine / sizeof machine[0]; i++)
        if (!strcmp(err->code, machine[i]))
            return "infrastructure_error";
    static const char *const build[] = {"load_failed", "missing_entry", "python_import_failed",
                                        "python_syntax_error", "wrong_parameters"};
    for (size_t i = 0; i < sizeof build / sizeof build[0]; i++)
        if (!strcmp(err->code, build[i]))
            return "build_failed";
    static const char *const runtime[] = {"kernel_failed", "python_exception"};
    for (size_t i = 0; i < sizeof runtime / sizeof runtime[0]; i++)
        if (!strcmp(err->code, runtime[i]))
            return "runtime_error";
    return "refused";
}

static int serve(struct recorder *r, const struct wire_message *message, const char *op)
{
    kgrade_error err = {.code = ""};
    if (!strcmp(op, "open")) {
        if (!open_task(r, message->json, &err))
            return worker_ok(NULL, NULL, 0, -1);
        return worker_fail("infrastructure_error", &err);
    }
    if (!strcmp(op, "seed")) {
        if (!r->entry && message->fd >= 0 && r->host->seed && !r->host->seed(message->fd, &err))
            return worker_ok(NULL, NULL, 0, -1);
    } else if (!strcmp(op, "load")) {
        uint64_t ns = 0;
        if (r->task && !r->entry && !load_candidate(r, message->fd, &ns, &err))
            return worker_ok(json_pack("{s:I}", "load_ns", (json_int_t)ns), NULL, 0, -1);
    } else if (!strcmp(op, "record")) {
        if (!record_case(r, message->json, &err))
            return 0;
    } else if (!strcmp(op, "blocks")) {
        if (!profile_blocks_of_case(r, message->json, &err))
            return 0;
    } else if (!strcmp(op, "profile")) {
        if (!profile_case(r, message->json, &err))
            return 0;
    } else {
        fail(&err, "wire_invalid", NULL, "Unknown request.");
    }
    return worker_fail(verdict_of(&err), &err);
}

int record_worker_main(const struct record_device *device, const struct record_host *host)
{
    struct recorder r = {.device = device, .host = host};
    worker_start_ahead(device->start);
    worker_start_ahead(host->start);
    for (;;) {
        cleanup_message struct wire_message message = {.fd = -1};
        const char *op;
        if (worker_next(&message, &op) || serve(&r, &message, op))
            break;
    }
    /* The candidate's destructors and exit handlers have nothing to say here. */
    _exit(0);
}
