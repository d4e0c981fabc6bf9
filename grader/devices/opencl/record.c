/* The recorder of the OpenCL device. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "../../record/worker.h"
#include "../../task/values.h"
#include "capture.h"

struct parameter {
    void *memory; /* what the buffer lives in */
    cl_mem buffer;
};

struct state {
    const struct task *task;
    struct parameter parameters[TASK_MAX_PARAMS];
};

/*
 * PoCL's threads, which run the kernels, are made here and inherit the policy of the thread that makes them.  One of SCHED_BATCH does
 * not preempt the thread that wakes it (sched(7)): else a call that enqueues a kernel would often return only when a good part of
 * it has run, and its time would not be that of the launch path.
 */
static int start_device(kgrade_error *err)
{
    static const struct sched_param none;
    sched_setscheduler(0, SCHED_BATCH, &none);
    int failed = entry_points_open(err) || pick_open(&capture_state.pick, err);
    sched_setscheduler(0, SCHED_OTHER, &none);
    return failed ? -1 : 0;
}

static int open_device(const struct task *task, uint64_t arena_bytes, void **ret_state,
                       kgrade_error *err)
{
    (void)err;
    (void)arena_bytes; /* each buffer is allocated by itself */
    static struct state state;
    state.task = task;
    capture_state.workspace_limit = task->workspace_bytes;
    capture_state.queue = capture_state.pick.queue;
    *ret_state = &state;
    return 0;
}

static void release_parameters(struct state *s)
{
    for (size_t i = 0; i < TASK_MAX_PARAMS; i++) {
        struct parameter *p = &s->parameters[i];
        if (p->buffer)
            clReleaseMemObject(p->buffer);
        free(p->memory);
        *p = (struct parameter){0};
    }
}

static int make_parameter(struct state *s, const struct layout_buffer *b, uint64_t seed,
                          kgrade_error *err)
{
    const struct param *param = &s->task->params[b->param];
    struct parameter *p = &s->parameters[b->param];
    size_t size = (size_t)(b->bytes + b->canary);
    p->memory = aligned_alloc(LAYOUT_PAGE, (size + LAYOUT_PAGE - 1) / LAYOUT_PAGE * LAYOUT_PAGE);
    if (!p->memory)
        return fail(err, "out_of_memory", NULL, "No memory for parameter \"%s\".", param->name);
    if (param->kind == PARAM_OUT)
        values_poison(p->memory, param->dtype, 0, (size_t)b->count, seed, (uint32_t)b->param);
    else
        values_fill(p->memory, param->dtype, 0, (size_t)b->count, b->count, &b->values, seed,
                    (uint32_t)b->param);
    /* An empty buffer still needs a byte: OpenCL has no buffers of size 0. */
    uint64_t bytes = b->bytes ? b->bytes : 1;
    cl_int code;
    capture_state.queue = NULL; /* so that the buffer is not taken for the candidate's */
    p->buffer = clCreateBuffer(capture_state.pick.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                               (size_t)bytes, p->memory, &code);
    capture_state.queue = capture_state.pick.queue;
    if (!p->buffer)
        return fail(err, "device_failed", NULL, "clCreateBuffer failed with %s (%d).",
                    pick_error_name(code), code);
    pthread_mutex_lock(&capture_state.lock);
    capture_add_buffer(p->buffer, bytes, b->param);
    pthread_mutex_unlock(&capture_state.lock);
    return 0;
}

static int prepare(void *state, const int64_t *dims, const struct layout *layout, uint64_t seed,
                   kgrade_error *err)
{
    (void)dims;
    struct state *s = state;
    release_parameters(s);
    for (size_t i = 0; i < layout->n_buffers; i++)
        if (make_parameter(s, &layout->buffers[i], seed, err))
            return -1;
    return 0;
}

static void *argument(void *state, size_t param)
{
    struct state *s = state;
    if (s->task->params[param].kind == PARAM_STREAM)
        return capture_state.pick.queue;
    return s->parameters[param].buffer;
}

static int begin(void *state, enum record_mode mode, kgrade_error *err)
{
    (void)state;
    (void)err;
    pthread_mutex_lock(&capture_state.lock);
    /* What was noted when an object was made holds for all calls that use it. */
    if (strcmp(capture_state.refusal.code, CAPTURE_TOO_MANY_OBJECTS))
        capture_state.refusal = (kgrade_error){.code = ""};
    capture_state.capturing = false;
    if (mode == RECORD_CAPTURE) {
        /* The recording is handed over in end(); until then nodes go to one of our own. */
        capture_state.recording = recording_new("opencl", ((struct state *)state)->task);
        int64_t none[TASK_MAX_PARAMS] = {0};
        capture_state.call =
            capture_state.recording ? recording_add_call(capture_state.recording, none) : NULL;
        for (size_t i = 0; i < capture_state.n_buffers; i++)
            capture_state.buffers[i].in_call = SIZE_MAX;
        capture_state.caller = pthread_self();
        capture_state.capturing = capture_state.call != NULL;
    }
    pthread_mutex_unlock(&capture_state.lock);
    if (mode == RECORD_CAPTURE && !capture_state.capturing)
        return fail(err, "out_of_memory", NULL, "No memory for a recording.");
    return 0;
}

static bool all_zero(const uint8_t *data, size_t n)
{
    return n == 0 || (data[0] == 0 && !memcmp(data, data + 1, n - 1));
}

/* What the candidate's own buffers hold goes along: tables made at the first call, for example. */
static int carry_contents(struct recording *recording, struct recording_call *call,
                          kgrade_error *err)
{
    for (size_t i = 0; i < capture_state.n_buffers; i++) {
        const struct tracked_buffer *b = &capture_state.buffers[i];
        if (b->param != SIZE_MAX || b->in_call == SIZE_MAX)
            continue;
        struct recording_buffer *buffer = &call->buffers[b->in_call];
        cleanup_free uint8_t *data = malloc((size_t)b->bytes);
        if (!data)
            return fail(err, "out_of_memory", NULL, "No memory for the contents of a buffer.");
        cl_int code = clEnqueueReadBuffer(capture_state.queue, b->handle, CL_TRUE, 0,
                                          (size_t)b->bytes, data, 0, NULL, NULL);
        if (code)
            return fail(err, "device_failed", NULL, "Reading a buffer back failed with %s (%d).",
                        pick_error_name(code), code);
        if (all_zero(data, (size_t)b->bytes))
            continue;
        buffer->blob = recording_add_blob(recording, data, (size_t)b->bytes);
        if (buffer->blob == SIZE_MAX)
            return fail(err, "out_of_memory", NULL, "No memory for the contents of a buffer.");
        buffer->has_contents = true;
    }
    return 0;
}

static int take_refusal(kgrade_error *err)
{
    pthread_mutex_lock(&capture_state.lock);
    bool refused = capture_state.refusal.code[0] != 0;
    if (refused)
        *err = capture_state.refusal;
    pthread_mutex_unlock(&capture_state.lock);
    return refused ? -1 : 0;
}

static int end_capture(struct recording *recording, kgrade_error *err)
{
    pthread_mutex_lock(&capture_state.lock);
    capture_state.capturing = false;
    pthread_mutex_unlock(&capture_state.lock);
    cleanup_recording struct recording *captured = steal_pointer(&capture_state.recording);
    struct recording_call *call = steal_pointer(&capture_state.call);
    if (take_refusal(err))
        return -1;
    if (!recording_has_work(call))
        return fail(err, "nothing_enqueued",
                    "Enqueue the work on the given queue in every call; work done on the host or "
                    "kept from an earlier call does not count.",
                    "The call enqueued nothing.");
    /* The queue is in order: each command follows the one before. */
    for (uint32_t i = 1; i < call->n_nodes; i++)
        if (recording_add_edge(call, i - 1, i))
            return fail(err, "out_of_memory", NULL, "No memory for a recording.");
    if (carry_contents(captured, call, err))
        return -1;
    memcpy(call->dims, recording->calls[0].dims, sizeof call->dims);
    recording->n_calls = 0;
    return recording_merge(recording, captured, err);
}

static int end(void *state, enum record_mode mode, struct recording *recording, kgrade_error *err)
{
    (void)state;
    if (mode == RECORD_CAPTURE)
        return end_capture(recording, err);
    cl_int code = clFinish(capture_state.pick.queue);
    if (code)
        return fail(err, "kernel_failed", "Check index ranges and launch sizes.",
                    "A kernel failed on the device with %s (%d).", pick_error_name(code), code);
    return take_refusal(err);
}

static void close_device(void *state)
{
    release_parameters(state);
    pick_close(&capture_state.pick);
}

const struct record_device record_this_device = {
    .name = "opencl",
    .start = start_device,
    .open = open_device,
    .prepare = prepare,
    .argument = argument,
    .begin = begin,
    .end = end,
    .close = close_device,
};
