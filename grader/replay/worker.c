#define _GNU_SOURCE
#include "worker.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../worker_io.h"

#define REPLAY_MAX_FILE_BYTES (64ull << 20) /* a runtime compiles kernels into files */

struct replayer {
    const struct replay_device *device;
    void *state; /* the device's */
    struct task *task;
    struct recording *recording;
    bool loaded;
    uint8_t *inputs; /* of a foreign task: where the judge writes them; read-only here */
    size_t inputs_bytes;
};

/* The arena is a file as large as the task; what comes after it, the candidate's device code included, needs no
 * large files. */
static int forbid_large_files(kgrade_error *err)
{
    const struct rlimit limit = {REPLAY_MAX_FILE_BYTES, REPLAY_MAX_FILE_BYTES};
    if (setrlimit(RLIMIT_FSIZE, &limit))
        return fail_errno(err, "device_failed", NULL, "The size of files could not be limited");
    return 0;
}

static int open_arena(struct replayer *r, const json_t *request, int shared_fd, kgrade_error *err)
{
    const char *text = json_string_value(json_object_get(request, "task"));
    json_int_t bytes = json_integer_value(json_object_get(request, "arena_bytes"));
    if (r->task || !text || bytes <= 0)
        return fail(err, "wire_invalid", NULL, "The replayer was not opened with one task.");
    if (worker_started(err) || task_parse(text, strlen(text), "task.json", &r->task, err))
        return -1;
    r->task->workspace_bytes =
        (uint64_t)json_integer_value(json_object_get(request, "workspace_bytes"));
    worker_stay_awake((uint64_t)json_integer_value(json_object_get(request, "awake_ns")));
    json_t *info = NULL;
    cleanup_close int arena = -1;
    if (r->device->open(r->task, (uint64_t)bytes, shared_fd, &r->state, &info, &arena, err) ||
        forbid_large_files(err))
        return -1;
    return worker_ok(json_pack("{s:o}", "info", info), NULL, 0, arena);
}

/* A recording is for this task, and its arguments name buffers where the task has buffers. */
static int check_fit(const struct replayer *r, const struct recording *recording, kgrade_error *err)
{
    if (strcmp(recording->device, r->device->name) || strcmp(recording->task, r->task->name) ||
        recording->n_params != r->task->n_params || recording->n_dims != r->task->n_dims)
        return fail(err, "recording_invalid", "Record the candidate for this task and device.",
                    "The recording is of task \"%s\" on device \"%s\".", recording->task,
                    recording->device);
    for (size_t c = 0; c < recording->n_calls; c++) {
        const struct recording_call *call = &recording->calls[c];
        for (size_t n = 0; n < call->n_nodes; n++) {
            const struct recording_node *node = &call->nodes[n];
            for (size_t a = 0; a < node->n_args; a++) {
                size_t p = node->args[a].buffer;
                if (node->args[a].kind == ARG_BUFFER && p < r->task->n_params &&
                    r->task->params[p].kind > PARAM_INOUT)
                    return fail(err, "recording_invalid", REPLAY_INVALID_HINT,
                                "Node %zu takes parameter \"%s\" for a buffer.", n,
                                r->task->params[p].name);
            }
        }
    }
    return 0;
}

static int take_recording(struct replayer *r, const struct bytes *blob, kgrade_error *err)
{
    cleanup_recording struct recording *recording = NULL;
    if (!r->task || r->recording)
        return fail(err, "wire_invalid", NULL, "A replayer serves one recording.");
    if (recording_parse(blob->data, blob->size, &recording, err) || check_fit(r, recording, err))
        return -1;
    r->recording = steal_pointer(&recording);
    return worker_ok(NULL, NULL, 0, -1);
}

static int pack_code(struct replayer *r, kgrade_error *err)
{
    cleanup_bytes struct bytes code = {0};
    if (!r->state || !r->device->pack)
        return fail(err, "wire_invalid", NULL, "This replayer has no code to pack.");
    if (r->device->pack(r->state, &code, err))
        return -1;
    return worker_ok(NULL, code.data, code.size, -1);
}

/* Before the recording: no candidate's code is in this process yet. */
static int confine_device(struct replayer *r, const struct bytes *code, kgrade_error *err)
{
    if (!r->state || r->recording || !r->device->confine)
        return fail(err, "wire_invalid", NULL, "This replayer cannot be confined.");
    if (r->device->confine(r->state, code, err))
        return -1;
    return worker_ok(NULL, NULL, 0, -1);
}

static int map_inputs(int fd, uint8_t **ret, size_t *ret_bytes, kgrade_error *err)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) || st.st_size <= 0)
        return fail(err, "wire_invalid", NULL, "Inputs were to come from what is no sealed file.");
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return fail_errno(err, "arena_failed", NULL, "The inputs could not be mapped");
    *ret = at;
    *ret_bytes = (size_t)st.st_size;
    return 0;
}

/* The file, or the arena, is written by the judge, and not while a sample is prepared. */
static int take_inputs(struct replayer *r, int fd, kgrade_error *err)
{
    if (!r->state)
        return fail(err, "wire_invalid", NULL, "Inputs were named before the replayer was opened.");
    if (!r->device->feed)
        return fail(err, "device_failed", "Grade it on another device.",
                    "The %s device takes no foreign tasks.", r->device->name);
    uint8_t *at = NULL;
    size_t bytes = 0;
    if (fd >= 0 && map_inputs(fd, &at, &bytes, err))
        return -1;
    if (r->device->feed(r->state, at, bytes, err)) { /* it still has what it had */
        if (at)
            munmap(at, bytes);
        return -1;
    }
    if (r->inputs)
        munmap(r->inputs, r->inputs_bytes);
    r->inputs = at;
    r->inputs_bytes = bytes;
    return worker_ok(NULL, NULL, 0, -1);
}

static int load_call(struct replayer *r, const json_t *request, kgrade_error *err)
{
    int64_t dims[TASK_MAX_PARAMS];
    struct layout layout;
    if (!r->recording)
        return fail(err, "wire_invalid", NULL, "A call was to be loaded before the recording.");
    if (wire_dims(request, r->task->n_dims, dims, err) ||
        task_layout(r->task, dims, &layout, err) ||
        task_draw_from(r->task, wire_values(request), &layout, err))
        return -1;
    const struct recording_call *call = recording_find_call(r->recording, dims);
    if (!call)
        return fail(err, "recording_incomplete",
                    "Record the candidate again: the task's cases have changed.",
                    "The recording has no call for one of the task's cases.");
    uint64_t start = io_now();
    r->loaded = false;
    if (r->device->load(r->state, r->recording, call, &layout, err))
        return -1;
    r->loaded = true;
    return worker_ok(json_pack("{s:I}", "load_ns", (json_int_t)(io_now() - start)), NULL, 0, -1);
}

static int prepare_sample(struct replayer *r, const json_t *request, kgrade_error *err)
{
    if (!r->loaded)
        return fail(err, "wire_invalid", NULL,
                    "A sample was to be prepared before a call was loaded.");
    if (r->device->prepare(r->state, wire_u64(request, "seed"), wire_u64(request, "poison"),
                           json_is_true(json_object_get(request, "cold")), err))
        return -1;
    return worker_ok(NULL, NULL, 0, -1);
}

static int run_sample(struct replayer *r, const json_t *request, kgrade_error *err)
{
    struct replay_sample sample = {0};
    bool empty = json_is_true(json_object_get(request, "empty"));
    if (!r->state || (!empty && !r->loaded))
        return fail(err, "wire_invalid", NULL,
                    "A sample was to be taken before a call was loaded.");
    if (r->device->run(r->state, empty, &sample, err))
        return -1;
    return worker_ok(json_pack("{s:I, s:b, s:I}", "ns", (json_int_t)sample.ns, "void",
                               sample.is_void, "left_ns", (json_int_t)sample.left_ns),
                     NULL, 0, -1);
}

static int make_batch(struct replayer *r, const json_t *request, kgrade_error *err)
{
    json_int_t wanted = json_integer_value(json_object_get(request, "n"));
    size_t n = r->device->batch ? (size_t)wanted : 0;
    if (!r->loaded || wanted <= 0 || wanted > REPLAY_MAX_BATCH)
        return fail(err, "wire_invalid", NULL, "A batch was to be made before a call was loaded.");
    if (n && r->device->batch(r->state, wire_u64(request, "seed"), wire_u64(request, "poison"),
                              json_is_true(json_object_get(request, "empty")), &n, err))
        return -1;
    return worker_ok(json_pack("{s:I}", "n", (json_int_t)n), NULL, 0, -1);
}

static int run_batch(struct replayer *r, kgrade_error *err)
{
    if (!r->loaded || !r->device->run_batch)
        return fail(err, "wire_invalid", NULL, "A batch was to be run before it was made.");
    return r->device->run_batch(r->state, err) ? -1 : worker_ok(NULL, NULL, 0, -1);
}

static int serve(struct replayer *r, const struct wire_message *message, const char *op)
{
    kgrade_error err = {.code = ""};
    int result = -1;
    if (!strcmp(op, "open")) {
        result = open_arena(r, message->json, message->fd, &err);
    } else if (!strcmp(op, "recording")) {
        result = take_recording(r, &message->blob, &err);
    } else if (!strcmp(op, "pack")) {
        result = pack_code(r, &err);
    } else if (!strcmp(op, "confine")) {
        result = confine_device(r, &message->blob, &err);
    } else if (!strcmp(op, "load")) {
        result = load_call(r, message->json, &err);
    } else if (!strcmp(op, "inputs")) {
        result = take_inputs(r, message->fd, &err);
    } else if (!strcmp(op, "prepare")) {
        result = prepare_sample(r, message->json, &err);
    } else if (!strcmp(op, "run")) {
        result = run_sample(r, message->json, &err);
    } else if (!strcmp(op, "batch")) {
        result = make_batch(r, message->json, &err);
    } else if (!strcmp(op, "run_batch")) {
        result = run_batch(r, &err);
    } else if (!strcmp(op, "ceilings") && r->state) {
        json_t *ceilings = r->device->ceilings(r->state, &err);
        result = ceilings ? worker_ok(ceilings, NULL, 0, -1) : -1;
    } else if (!strcmp(op, "health") && r->state) {
        result = worker_ok(r->device->health ? r->device->health(r->state) : NULL, NULL, 0, -1);
    } else {
        fail(&err, "wire_invalid", NULL, "Unknown request.");
    }
    if (result && err.code[0]) {
        static const char *const candidate[] = {"recording_invalid", "recording_incomplete",
                                                "kernel_failed", "replay_illegal_access",
                                                "replay_left_work"};
        const char *verdict = "infrastructure_error";
        for (size_t i = 0; i < sizeof candidate / sizeof candidate[0]; i++)
            if (!strcmp(err.code, candidate[i]))
                verdict = i < 2 ? "refused" : "runtime_error";
        if (!strcmp(err.code, "replay_timeout"))
            verdict = "timeout";
        return worker_fail(verdict, &err);
    }
    return result;
}

int replay_worker_main(const struct replay_device *device)
{
    struct replayer r = {.device = device};
    worker_start_ahead(device->start);
    for (;;) {
        cleanup_message struct wire_message message = {.fd = -1};
        const char *op;
        if (worker_next(&message, &op) || serve(&r, &message, op))
            break;
    }
    /* Device code of the candidate may have left anything behind in this process: run no exit handlers. */
    _exit(0);
}
