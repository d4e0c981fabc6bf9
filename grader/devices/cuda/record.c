/* The recorder's device half: the candidate works in an arena at the addresses of the replayer's, and one call is captured on
 * its stream. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/fail.h"
#include "../../record/worker.h"
#include "../shared/workspace.h"
#include "arena.h"
#include "capture.h"
#include "hooks.h"
#include "inputs.h"
#include "launch.h"
#include "watch.h"

#define POISON_SALT 0x5851f42d4c957f2dull /* the recorder's poison need not be secret */

/* What candidates get, and what is captured.  Launches without a stream land there too, by the way they are compiled. */
#define CANDIDATE_STREAM CU_STREAM_PER_THREAD

struct recorder {
    const struct task *task;
    struct driver_context context;
    struct arena arena;
    struct kernels kernels;
    struct workspace *workspace;
    CUstream stream; /* for preparing */
    struct layout layout;
    bool has_stream;    /* the task's entry takes a stream: then it must not wait for the device */
    bool is_first_call; /* of the case: modules are likely to be loaded */
    uint64_t failed_allocation; /* in the last call, as in hooks_seen */
};

static void record_close(void *state)
{
    struct recorder *r = state;
    if (!r)
        return;
    if (r->stream)
        cuStreamDestroy(r->stream);
    kernels_close(&r->kernels);
    arena_close(&r->arena);
    driver_close(&r->context);
    /* Allocations of the candidate may still be answered: the workspace stays as long as the process. */
    free(r);
}

/* Making the context takes a tenth of a second: it is made while the process waits for a candidate. */
static int record_start(kgrade_error *err)
{
    static struct driver_context context;
    if (watch_open(err) || driver_open(&context, CU_CTX_SCHED_AUTO, err))
        return -1;
    hooks_answer();
    return 0;
}

static int open_device(struct recorder *r, uint64_t arena_bytes, kgrade_error *err)
{
    if (driver_open(&r->context, CU_CTX_SCHED_AUTO, err) ||
        arena_create(&r->arena, &r->context, r->task->workspace_bytes, arena_bytes, err) ||
        arena_fit(&r->arena, &r->context, r->arena.address, r->arena.workspace_bytes, err) ||
        kernels_open(&r->kernels, &r->context, err))
        return -1;
    DRIVER_TRY(err, cuStreamCreate(&r->stream, CU_STREAM_NON_BLOCKING));
    r->workspace = workspace_new(r->arena.address, r->arena.workspace_bytes);
    if (!r->workspace)
        return fail(err, "out_of_memory", NULL, "No memory for the workspace's list of blocks.");
    if (hooks_open(r->workspace, err))
        return -1;
    if (arena_clear(&r->arena, r->stream, err))
        return -1;
    DRIVER_TRY(err, cuStreamSynchronize(r->stream));
    watch_forget();
    watch_all(true);
    hooks_start();
    return 0;
}

static int record_open(const struct task *task, uint64_t arena_bytes, void **ret_state,
                       kgrade_error *err)
{
    struct recorder *r = calloc(1, sizeof *r);
    if (!r)
        return fail(err, "out_of_memory", NULL, "No memory for a recorder.");
    r->task = task;
    r->arena.memory_fd = -1;
    for (size_t i = 0; i < task->n_params; i++)
        r->has_stream = r->has_stream || task->params[i].kind == PARAM_STREAM;
    if (open_device(r, arena_bytes, err)) {
        record_close(r);
        return -1;
    }
    *ret_state = r;
    return 0;
}

static int record_prepare(void *state, const int64_t *dims, const struct layout *layout,
                          uint64_t seed, kgrade_error *err)
{
    struct recorder *r = state;
    (void)dims;
    if (layout->bytes > arena_case_bytes(&r->arena))
        return fail(err, "arena_failed", "Report this: the arena was made too small for the task.",
                    "A case needs %llu bytes of an arena of %llu.",
                    (unsigned long long)layout->bytes,
                    (unsigned long long)arena_case_bytes(&r->arena));
    r->layout = *layout;
    r->is_first_call = true;
    struct launch_target target = {.stream = r->stream};
    if (inputs_queue(&r->kernels, &target, arena_buffers(&r->arena), r->task, layout, seed,
                     seed ^ POISON_SALT, err))
        return -1;
    DRIVER_TRY(err, cuStreamSynchronize(r->stream));
    return 0;
}

static void *record_argument(void *state, size_t param)
{
    struct recorder *r = state;
    for (size_t i = 0; i < r->layout.n_buffers; i++)
        if (r->layout.buffers[i].param == param)
            return (void *)(uintptr_t)(arena_buffers(&r->arena) + r->layout.buffers[i].offset);
    return CANDIDATE_STREAM;
}

static int record_begin(void *state, enum record_mode mode, kgrade_error *err)
{
    struct recorder *r = state;
    if (mode == RECORD_EXECUTE) {
        if (r->is_first_call)
            watch_all(true);
        hooks_begin_call(HOOKS_SYNC_REAL);
        watch_begin_call();
        return 0;
    }
    watch_all(true);
    hooks_begin_call(r->has_stream ? HOOKS_SYNC_REFUSE : HOOKS_SYNC_ABSORB);
    workspace_settle(r->workspace); /* between calls there is nothing queued */
    workspace_mark(r->workspace);
    watch_begin_call();
    /* What the stream's capture does not see, a launch on the legacy stream for example, must fail loudly. */
    DRIVER_TRY(err, cuStreamBeginCapture(CANDIDATE_STREAM, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    return 0;
}

static int refuse_unsupported(const struct hooks_seen *hooks, kgrade_error *err)
{
    return fail(err, hooks->unsupported_code, hooks->unsupported_hint,
                "The candidate called %s, which has no place in a recording.", hooks->unsupported);
}

static int refuse_allocation(const struct recorder *r, kgrade_error *err)
{
    return fail(err, "workspace_exhausted", "Allocate less, or free what a call does not need.",
                "An allocation of %llu bytes did not fit into the task's workspace of %llu bytes.",
                (unsigned long long)r->failed_allocation,
                (unsigned long long)r->task->workspace_bytes);
}

static const char *result_text(CUresult result)
{
    const char *text = NULL;
    return cuGetErrorString(result, &text) == CUDA_SUCCESS && text ? text : "unknown error";
}

static int end_execute(struct recorder *r, kgrade_error *err)
{
    struct hooks_seen hooks;
    struct watch_seen watched;
    CUresult result = hooks_synchronize();
    if (r->is_first_call)
        watch_all(false);
    hooks_end_call(&hooks);
    r->failed_allocation = hooks.failed_allocation;
    watch_end_call(&watched);
    r->is_first_call = false;
    const char *fault = driver_kernel_fault(result);
    if (result != CUDA_SUCCESS && hooks.failed_allocation)
        return refuse_allocation(r, err);
    if (fault)
        return fail(err, "kernel_failed",
                    "Run the candidate under compute-sanitizer to find the place.",
                    "%s (CUDA error %d).", fault, (int)result);
    if (result != CUDA_SUCCESS)
        return fail(err, "kernel_failed", "Check what the call returns.",
                    "The device failed during a call: %s (%d).", result_text(result), (int)result);
    if (hooks.unsupported)
        return refuse_unsupported(&hooks, err);
    workspace_settle(r->workspace);
    return 0;
}

static int launch_failed(const struct watch_seen *watched, kgrade_error *err)
{
    return fail(err, "launch_failed",
                "Check grid, block and shared memory against the device's limits.",
                "The launch of kernel %s failed: %s (%d).", watched->failed_launch,
                result_text(watched->failed_result), (int)watched->failed_result);
}

/* Why nothing could be captured. */
static int capture_failed(const struct recorder *r, CUresult result, const struct hooks_seen *hooks,
                          const struct watch_seen *watched, kgrade_error *err)
{
    const char *by = watched->broken_by[0] ? watched->broken_by : "an operation";
    if (hooks->refused_sync)
        return fail(err, "sync_in_call", "Only queue work on the stream; the caller waits for it.",
                    "The call waits for the device (%s).", hooks->refused_sync);
    if (hooks->failed_allocation)
        return refuse_allocation(r, err);
    if (watched->broken_result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        return fail(err, "legacy_stream",
                    "Pass the task's stream to every launch, copy and library handle "
                    "(cudaStreamPerThread where the task "
                    "has none).",
                    "Work was put on the legacy default stream (%s%s%s).", by,
                    watched->broken_kernel[0] ? ", kernel " : "", watched->broken_kernel);
    if (result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
        return fail(err, "unjoined_stream",
                    "Record an event at the end of each other stream, and let the task's stream "
                    "wait for it.",
                    "Work on another stream is not waited for by the task's stream.");
    if (strstr(by, "cuGraphLaunch"))
        return fail(err, "graph_launch",
                    "Launch the kernels themselves: the recording makes a graph of them.",
                    "The call launches a graph of its own, which cannot be recorded (%s).", by);
    if (watched->failed_launch[0])
        return launch_failed(watched, err);
    if (watched->broken_result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ||
        watched->broken_result == CUDA_ERROR_CAPTURED_EVENT)
        return fail(err, "sync_in_call",
                    "Only queue work on the stream; set-up that waits for the device belongs into "
                    "the first call.",
                    "The call waits for the device or changes its state (%s).", by);
    return fail(err, "capture_failed", "Queue all work on the task's stream, and nothing else.",
                "The call cannot be captured: %s (%s: %d).", result_text(result), by,
                (int)(watched->broken_result ? watched->broken_result : result));
}

static int check_counts(const struct recorder *r, CUgraph graph, const struct hooks_seen *hooks,
                        const struct watch_seen *watched, kgrade_error *err)
{
    struct capture_counts counts;
    if (capture_count(graph, &counts, err))
        return -1;
    if (counts.kernels == 0 && counts.graphs == 0 && watched->broken_by[0])
        return capture_failed(r, watched->broken_result, hooks, watched, err);
    if (counts.kernels == 0 && counts.graphs == 0 && watched->failed_launch[0])
        return launch_failed(watched, err);
    if (watched->launches > counts.kernels || watched->graph_launches > counts.graphs)
        return fail(
            err, "launch_outside_stream",
            "Use the task's stream, or let it wait for the others by events (fork and join).",
            "%u of %u launches went to a stream that the task's stream does not wait for.",
            watched->launches -
                (watched->launches > counts.kernels ? counts.kernels : watched->launches) +
                watched->graph_launches -
                (watched->graph_launches > counts.graphs ? counts.graphs : watched->graph_launches),
            watched->launches + watched->graph_launches);
    return 0;
}

static int check_work(const struct recording *recording, kgrade_error *err)
{
    return recording_has_work(&recording->calls[recording->n_calls - 1])
               ? 0
               : fail(err, "nothing_enqueued",
                      "Queue the work in every call; results of earlier calls do not count.",
                      "The call put no work on the stream.");
}

static int end_capture(struct recorder *r, struct recording *recording, kgrade_error *err)
{
    CUgraph graph = NULL;
    struct hooks_seen hooks;
    struct watch_seen watched;
    CUresult result = cuStreamEndCapture(CANDIDATE_STREAM, &graph);
    watch_all(false);
    hooks_end_call(&hooks);
    r->failed_allocation = hooks.failed_allocation;
    watch_end_call(&watched);
    driver_trace("capture ended with %d; %u launches, %u graphs, %u waits absorbed", (int)result,
                 watched.launches, watched.graph_launches, hooks.absorbed);
    if (hooks.unsupported)
        return refuse_unsupported(&hooks, err);
    const char *fault = driver_kernel_fault(result);
    if (fault)
        return fail(err, "kernel_failed",
                    "Run the candidate under compute-sanitizer to find the place.",
                    "%s (CUDA error %d).", fault, (int)result);
    if (result != CUDA_SUCCESS || !graph || hooks.refused_sync)
        return capture_failed(r, result, &hooks, &watched, err);
    const struct capture_place place = {&r->context, &r->arena, r->workspace, r->task};
    int failed = check_counts(r, graph, &hooks, &watched, err) ||
                 capture_write(graph, &place, recording, err) || check_work(recording, err);
    cuGraphDestroy(graph);
    if (failed)
        return -1;
    /* Work that escaped to another stream has run, or is running. */
    result = hooks_synchronize();
    if (result != CUDA_SUCCESS)
        return driver_fail(err, "kernel_failed", result,
                           "Waiting for the device after the capture");
    workspace_settle(r->workspace);
    return 0;
}

static int record_end(void *state, enum record_mode mode, struct recording *recording,
                      kgrade_error *err)
{
    struct recorder *r = state;
    return mode == RECORD_EXECUTE ? end_execute(r, err) : end_capture(r, recording, err);
}

static int record_denied(void *state, kgrade_error *err)
{
    const struct recorder *r = state;
    return r->failed_allocation ? refuse_allocation(r, err) : 0;
}

static void record_profile(void *state, bool on)
{
    (void)state;
    watch_profile(on);
}

static void record_idle_call(void *state)
{
    int version;
    (void)state;
    cuDriverGetVersion(&version);
}

const struct record_device record_this_device = {
    .name = "cuda",
    .start = record_start,
    .open = record_open,
    .prepare = record_prepare,
    .argument = record_argument,
    .begin = record_begin,
    .end = record_end,
    .denied = record_denied,
    .profile = record_profile,
    .idle_call = record_idle_call,
    .close = record_close,
};
