#define _GNU_SOURCE
#include "worker.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/fail.h"
#include "../profile/worker.h"
#include "../task/call.h"
#include "../worker_io.h"

#define RECORD_MAX_WARM_CALLS 1000u

struct recorder {
    const struct record_device *device;
    void *state; /* the device's */
    struct task *task;
    struct call *call;
    void (*entry)(void); /* of the candidate that is called */
    void (*entries[PROFILE_MAX_CANDIDATES])(void);
    size_t n_entries; /* candidates loaded; more than one only in a profile */
    bool profiles;    /* opened for a profile: then nothing is recorded */
};

static int open_task(struct recorder *r, const json_t *request, kgrade_error *err)
{
    const char *text = json_string_value(json_object_get(request, "task"));
    json_int_t bytes = json_integer_value(json_object_get(request, "arena_bytes"));
    if (r->task || !text || bytes <= 0)
        return fail(err, "wire_invalid", NULL, "The recorder was not opened with one task.");
    if (task_parse(text, strlen(text), "task.json", &r->task, err) ||
        call_new_entry(r->task, &r->call, err))
        return -1;
    const json_t *profile = json_object_get(request, "profile");
    r->profiles = json_is_true(profile) || json_is_string(profile);
    if (json_is_true(profile) && profile_open(err))
        return -1;
    return worker_started(err) ? -1 : r->device->open(r->task, (uint64_t)bytes, &r->state, err);
}

static int load_candidate(struct recorder *r, int fd, uint64_t *ret_ns, kgrade_error *err)
{
    uint64_t start = io_now();
    void *library = worker_load(fd);
    if (!library)
        return fail(
            err, "load_failed",
            "Call only functions of the C library and those that the device offers to candidates.",
            "The candidate could not be loaded: %s", worker_load_error());
    void *symbol = dlsym(library, r->task->entry);
    if (!symbol)
        return fail(err, "missing_entry",
                    "Define it with C linkage, not static, and with the task's parameters.",
                    "The candidate does not export the entry point \"%s\".", r->task->entry);
    memcpy(&r->entry, &symbol, sizeof symbol);
    r->entries[r->n_entries++] = r->entry;
    *ret_ns = io_now() - start;
    return 0;
}

static void progress(const char *stage)
{
    wire_send(WORKER_SOCKET, json_pack("{s:s}", "stage", stage), NULL, 0, -1,
              io_now() + WORKER_SEND_NS, NULL);
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
    call_set_dims(r->call, dims);
    for (size_t i = 0; i < r->task->n_params; i++) {
        enum param_kind kind = r->task->params[i].kind;
        if (kind != PARAM_DIM && kind != PARAM_SCALAR)
            call_set_pointer(r->call, i, r->device->argument(r->state, i));
    }
    return 0;
}

static int profile_blocks_of_case(struct recorder *r, const json_t *request, kgrade_error *err)
{
    int64_t dims[TASK_MAX_PARAMS];
    uint64_t ns;
    json_t *answer = NULL;
    json_int_t which = json_integer_value(json_object_get(request, "which"));
    if (!r->profiles || which < 0 || (size_t)which >= r->n_entries)
        return fail(err, "wire_invalid", NULL, "The recorder was not opened for a profile.");
    bool is_first = json_object_get(request, "dims") != NULL;
    if (is_first && prepare_case(r, request, dims, err))
        return -1;
    for (size_t i = 0; is_first && i < r->n_entries; i++) {
        r->entry = r->entries[i];
        progress("first_call");
        if (one_call(r, RECORD_EXECUTE, NULL, &ns, "first_call_wait", err))
            return -1;
    }
    r->entry = r->entries[which];
    const struct profile_target target = {r->device, r->state, r->call, r->entry, progress};
    if (profile_blocks(&target, request, &answer, err))
        return -1;
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
    for (json_int_t i = 0; i < warm; i++) {
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
    if (one_call(r, RECORD_CAPTURE, recording, &once, NULL, err) ||
        recording_write(recording, &file, err)) {
        json_decref(times);
        return -1;
    }
    return worker_ok(json_pack("{s:I, s:o}", "cold_ns", (json_int_t)cold, "warm_ns", times),
                     file.data, file.size, -1);
}

/* Errors of the machine, as opposed to what a candidate did. */
static const char *verdict_of(const kgrade_error *err)
{
    static const char *const machine[] = {"wire_invalid",  "io_failed",     "io_closed",
                                          "out_of_memory", "device_failed", "arena_failed"};
    for (size_t i = 0; i < sizeof machine / sizeof machine[0]; i++)
        if (!strcmp(err->code, machine[i]))
            return "infrastructure_error";
    static const char *const build[] = {"load_failed", "missing_entry"};
    for (size_t i = 0; i < sizeof build / sizeof build[0]; i++)
        if (!strcmp(err->code, build[i]))
            return "build_failed";
    if (!strcmp(err->code, "kernel_failed"))
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
    if (!strcmp(op, "load")) {
        uint64_t ns = 0;
        size_t most = r->profiles ? PROFILE_MAX_CANDIDATES : 1;
        if (r->task && r->n_entries < most && !load_candidate(r, message->fd, &ns, &err))
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

int record_worker_main(const struct record_device *device)
{
    struct recorder r = {.device = device};
    worker_start_device(device->start);
    for (;;) {
        cleanup_message struct wire_message message = {.fd = -1};
        const char *op;
        if (worker_next(&message, &op) || serve(&r, &message, op))
            break;
    }
    /* The candidate's destructors and exit handlers have nothing to say here. */
    _exit(0);
}
