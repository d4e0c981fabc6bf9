/* The recorder's device half: the candidate works in an arena, and one call is written down as it is made. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "../shared/host_inputs.h"
#include "capture.h"

#define POISON_SALT 0x5851f42d4c957f2dull /* the recorder's poison need not be secret */

struct capture capture = {.lock = PTHREAD_MUTEX_INITIALIZER};

void capture_refuse(const char *code, const char *hint, const char *format, ...)
{
    kgrade_error *r = &capture.refusal;
    if (r->code[0])
        return;
    va_list ap;
    va_start(ap, format);
    fail_set_v(r, code, hint, format, ap);
    va_end(ap);
}

/* The layout of the case, for record_argument. */
static struct layout layout_now;

/* Loading the library takes most of a second on a card: it is done while the process waits for a candidate. */
static int record_start(kgrade_error *err)
{
    hip_stream stream = NULL;
    if (runtime_open(RUNTIME_FOR_RECORD, err))
        return -1;
    RUNTIME_TRY(err, hip.hipStreamCreateWithFlags(&stream, HIP_STREAM_NON_BLOCKING));
    capture.main = stream_add(stream);
    return capture.main ? 0 : fail(err, "out_of_memory", NULL, "No memory for a stream.");
}

static int record_open(const struct task *task, uint64_t arena_bytes, void **ret_state,
                       kgrade_error *err)
{
    capture.task = task;
    for (size_t i = 0; i < task->n_params; i++)
        capture.has_stream = capture.has_stream || task->params[i].kind == PARAM_STREAM;
    if (arena_create(&capture.arena, task->workspace_bytes, arena_bytes, err))
        return -1;
    capture.workspace = workspace_new(capture.arena.address, capture.arena.workspace_bytes);
    if (!capture.workspace)
        return fail(err, "out_of_memory", NULL, "No memory for the workspace's list of blocks.");
    RUNTIME_TRY(err,
                hip.hipMemset((void *)(uintptr_t)capture.arena.address, 0, capture.arena.bytes));
    RUNTIME_TRY(err, hip.hipDeviceSynchronize());
    *ret_state = &capture;
    return 0;
}

static int record_prepare(void *state, const int64_t *dims, const struct layout *layout,
                          uint64_t seed, kgrade_error *err)
{
    (void)state, (void)dims;
    if (layout->bytes > arena_case_bytes(&capture.arena))
        return fail(err, "arena_failed", "Report this: the arena was made too small for the task.",
                    "A case needs %llu bytes of an arena of %llu.",
                    (unsigned long long)layout->bytes,
                    (unsigned long long)arena_case_bytes(&capture.arena));
    layout_now = *layout;
    cleanup_free uint8_t *buffers = calloc(1, (size_t)layout->bytes + 1);
    if (!buffers)
        return fail(err, "out_of_memory", NULL, "No memory for a case's inputs.");
    host_inputs_fill(capture.task, layout, buffers, seed, seed ^ POISON_SALT);
    RUNTIME_TRY(err, hip.hipMemcpy((void *)(uintptr_t)arena_buffers(&capture.arena), buffers,
                                   (size_t)layout->bytes, HIP_COPY_HOST_TO_DEVICE));
    return 0;
}

static void *record_argument(void *state, size_t param)
{
    (void)state;
    for (size_t i = 0; i < layout_now.n_buffers; i++)
        if (layout_now.buffers[i].param == param)
            return (void *)(uintptr_t)(arena_buffers(&capture.arena) +
                                       layout_now.buffers[i].offset);
    return capture.main;
}

static int record_begin(void *state, enum record_mode mode, kgrade_error *err)
{
    (void)state;
    pthread_mutex_lock(&capture.lock);
    bool capturing = mode == RECORD_CAPTURE;
    if (capturing) {
        /* The recording is handed over in the end; until then nodes go to one of our own. */
        const int64_t none[TASK_MAX_PARAMS] = {0};
        workspace_mark(capture.workspace);
        capture.recording = recording_new("hip", capture.task);
        capture.call = capture.recording ? recording_add_call(capture.recording, none) : NULL;
        for (size_t i = 0; i < capture.n_modules; i++)
            capture.modules[i]->image_in_call = SIZE_MAX;
        capture.launches = capture.outside = 0;
        capture.n_calls++;
        streams_begin();
        capture.writing = capture.call != NULL;
    }
    bool failed = capturing && !capture.writing;
    pthread_mutex_unlock(&capture.lock);
    return failed ? fail(err, "out_of_memory", NULL, "No memory for a recording.") : 0;
}

static int take_refusal(kgrade_error *err)
{
    pthread_mutex_lock(&capture.lock);
    bool refused = capture.refusal.code[0] != 0;
    if (refused)
        *err = capture.refusal;
    pthread_mutex_unlock(&capture.lock);
    return refused ? -1 : 0;
}

static int wait_for_device(kgrade_error *err)
{
    hip_error result = hip.hipDeviceSynchronize();
    const char *fault = runtime_kernel_fault(result);
    if (fault)
        return fail(err, "kernel_failed", "Check index ranges and launch sizes.",
                    "%s (HIP error %d).", fault, result);
    if (result != HIP_SUCCESS)
        return runtime_fail(err, "kernel_failed", result, "Waiting for a call's work");
    return 0;
}

static int end_execute(kgrade_error *err)
{
    if (take_refusal(err) || wait_for_device(err))
        return -1;
    workspace_settle(capture.workspace);
    return 0;
}

static int check_call(kgrade_error *err)
{
    if (capture.outside)
        return fail(
            err, "launch_outside_stream",
            "Use the task's stream, or let it wait for the others by events (fork and join).",
            "%u operations went to a stream that the task's stream does not wait for.",
            capture.outside);
    if (!recording_has_work(capture.call))
        return fail(err, "nothing_enqueued",
                    "Queue the work in every call; results of earlier calls do not count.",
                    "The call put no work on the stream.");
    return streams_check_joined(err);
}

static int end_capture(struct recording *recording, kgrade_error *err)
{
    pthread_mutex_lock(&capture.lock);
    capture.writing = false;
    pthread_mutex_unlock(&capture.lock);
    cleanup_recording struct recording *written = capture.recording;
    int failed = take_refusal(err) || check_call(err) || wait_for_device(err) || memory_write(err);
    if (!failed)
        memcpy(capture.call->dims, recording->calls[0].dims, sizeof capture.call->dims);
    capture.recording = NULL;
    capture.call = NULL;
    if (failed)
        return -1;
    workspace_settle(capture.workspace);
    recording->n_calls = 0;
    return recording_merge(recording, written, err);
}

static int record_end(void *state, enum record_mode mode, struct recording *recording,
                      kgrade_error *err)
{
    (void)state;
    return mode == RECORD_EXECUTE ? end_execute(err) : end_capture(recording, err);
}

static void record_close(void *state)
{
    (void)state;
    arena_close(&capture.arena);
}

const struct record_device record_this_device = {
    .name = "hip",
    .start = record_start,
    .open = record_open,
    .prepare = record_prepare,
    .argument = record_argument,
    .begin = record_begin,
    .end = record_end,
    .close = record_close,
};
