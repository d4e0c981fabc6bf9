/*
 * For python_graph.py: kgrade's replay of a candidate's recording, and the candidate's own CUDA graph, in one process, on the same
 * buffers and timed by the same gate.  The replayer is kgrade's as it is (replay.c, whose main has another name here); a graph
 * of one's own goes between a gate and a stop stamp as a recorded call does.
 *
 * Functions return 0, or -1 after which beside_error() says why; the process ends without closing anything.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "grader/devices/cuda/arena.h"
#include "grader/devices/cuda/gate.h"
#include "grader/devices/cuda/launch.h"
#include "grader/recording.h"
#include "grader/replay/worker.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/fail.h"

#define EXPORT __attribute__((visibility("default")))
/* As a grade's for a candidate in Python: the task's, the frameworks', and three tensors of the largest case. */
#define FRAMEWORK_BYTES (512ull << 20)
#define TENSORS 3u

int beside_replayer_main(void);

EXPORT const char *beside_error(void);
EXPORT int beside_open(const char *task_folder, const char *recording_file);
EXPORT int beside_load(const int64_t *dims);
EXPORT int beside_arguments(char *ret, size_t size);
EXPORT int beside_prepare(uint64_t seed, bool cold);
EXPORT int beside_replay(bool empty, uint64_t *ret_ns, bool *ret_void);
EXPORT int beside_take(CUgraph graph);
EXPORT int beside_run(bool empty, uint64_t *ret_ns, bool *ret_void);

static struct {
    const struct replay_device *device;
    void *replayer;
    struct task *task;
    struct recording *recording;
    struct layout layout;
    int64_t dims[TASK_MAX_PARAMS];
    /* Of the graph of one's own. */
    struct driver_context context;
    struct kernels kernels;
    struct gate gate;
    CUstream stream;
    CUgraphExec graph, nothing;
    kgrade_error err;
} beside;

/* What replay.c's main would serve. */
int replay_worker_main(const struct replay_device *device)
{
    beside.device = device;
    return 0;
}

const char *beside_error(void)
{
    return beside.err.message;
}

static int read_recording(const char *file)
{
    cleanup_bytes struct bytes bytes = {0};
    return io_read_file(file, RECORDING_MAX_BYTES, &bytes, &beside.err) ||
           recording_parse(bytes.data, bytes.size, &beside.recording, &beside.err);
}

/* Gate, the graph if there is one, stop. */
static int enclose(CUgraph graph, CUgraphExec *ret)
{
    kgrade_error *err = &beside.err;
    struct launch_target target = {0};
    CUdeviceptr mail = beside.gate.mail_device;
    void *post[] = {&mail};
    DRIVER_TRY(err, cuGraphCreate(&target.graph, 0));
    if (kernels_launch(&beside.kernels, KERNEL_GATE, 1, 1, &target, post, err))
        return -1;
    if (graph) {
        CUgraphNode child;
        DRIVER_TRY(err, cuGraphAddChildGraphNode(&child, target.graph, &target.last, 1, graph));
        target.last = child;
    }
    if (kernels_launch(&beside.kernels, KERNEL_STOP, 1, 1, &target, post, err))
        return -1;
    DRIVER_TRY(err, cuGraphInstantiate(ret, target.graph, 0));
    DRIVER_TRY(err, cuGraphUpload(*ret, beside.stream));
    DRIVER_TRY(err, cuGraphDestroy(target.graph));
    return gate_pass(&beside.gate, *ret, beside.stream, err);
}

/* Once, before anything else has used the device. */
int beside_open(const char *task_folder, const char *recording_file)
{
    kgrade_error *err = &beside.err;
    uint64_t largest = 0;
    json_auto_t *info = NULL;
    int arena = -1;
    beside_replayer_main();
    if (task_load(task_folder, &beside.task, err) || read_recording(recording_file) ||
        task_largest(beside.task, beside.task->cases, beside.task->n_cases, &largest, err))
        return -1;
    beside.task->workspace_bytes += FRAMEWORK_BYTES + TENSORS * largest;
    if (driver_open(&beside.context, CU_CTX_SCHED_SPIN, err) ||
        beside.device->open(beside.task, largest, -1, &beside.replayer, &info, &arena, err) ||
        kernels_open(&beside.kernels, &beside.context, err) || gate_open(&beside.gate, err))
        return -1;
    DRIVER_TRY(err, cuStreamCreate(&beside.stream, CU_STREAM_NON_BLOCKING));
    return enclose(NULL, &beside.nothing);
}

/* The recorded call of these dims. */
int beside_load(const int64_t *dims)
{
    const struct recording_call *call = recording_find_call(beside.recording, dims);
    if (!call)
        return fail(&beside.err, "recording_incomplete", NULL, "The case was not recorded.");
    memcpy(beside.dims, dims, beside.task->n_dims * sizeof *dims);
    if (task_layout(beside.task, dims, &beside.layout, &beside.err) ||
        task_draw_from(beside.task, 0, &beside.layout, &beside.err))
        return -1;
    return beside.device->load(beside.replayer, beside.recording, call, &beside.layout,
                               &beside.err);
}

static json_t *shape_of(const struct param *param, const struct expr_scope *scope)
{
    json_t *shape = json_array();
    for (size_t axis = 0; axis < param->rank; axis++) {
        int64_t extent = 0;
        if (expr_eval(param->shape[axis], scope, &extent, &beside.err)) {
            json_decref(shape);
            return NULL;
        }
        json_array_append_new(shape, json_integer(extent));
    }
    return shape;
}

/* An object for each parameter of the task, as JSON, for the recorder's Python: "address" and "shape" of a buffer, "address"
 * of the stream that calls are captured on, or a "value". */
int beside_arguments(char *ret, size_t size)
{
    struct expr_scope scope = task_scope(beside.task, beside.dims);
    json_auto_t *arguments = json_array();
    size_t dim = 0;
    for (size_t i = 0; i < beside.task->n_params; i++) {
        const struct param *param = &beside.task->params[i];
        json_t *one = NULL;
        if (param->kind == PARAM_STREAM)
            one = json_pack("{s:i}", "address", 2);
        else if (param->kind == PARAM_DIM)
            one = json_pack("{s:I}", "value", (json_int_t)beside.dims[dim++]);
        else if (param->kind == PARAM_SCALAR)
            one = dtype_is_float(param->dtype)
                      ? json_pack("{s:f}", "value", param->scalar)
                      : json_pack("{s:I}", "value", (json_int_t)param->scalar);
        for (size_t b = 0; !one && b < beside.layout.n_buffers; b++)
            if (beside.layout.buffers[b].param == i)
                one = json_pack("{s:I, s:o}", "address",
                                (json_int_t)(ARENA_BUFFERS + beside.layout.buffers[b].offset),
                                "shape", shape_of(param, &scope));
        json_array_append_new(arguments, one);
    }
    cleanup_free char *text = json_dumps(arguments, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text || strlen(text) >= size)
        return fail(&beside.err, "out_of_memory", NULL, "The arguments are too long.");
    strcpy(ret, text);
    return 0;
}

/* New inputs, useless outputs, and with cold L2 emptied; it has happened on return. */
int beside_prepare(uint64_t seed, bool cold)
{
    return beside.device->prepare(beside.replayer, seed, ~seed, cold, &beside.err);
}

static int told(int failed, const struct replay_sample *sample, uint64_t *ret_ns, bool *ret_void)
{
    *ret_ns = sample->ns;
    *ret_void = sample->is_void;
    return failed;
}

/* One sample of the replay, or with empty of the same without the call. */
int beside_replay(bool empty, uint64_t *ret_ns, bool *ret_void)
{
    struct replay_sample sample = {0};
    int failed = beside.device->run(beside.replayer, empty, &sample, &beside.err);
    return told(failed, &sample, ret_ns, ret_void);
}

/* The graph stays the caller's, and must stay as it is until the next one is taken. */
int beside_take(CUgraph graph)
{
    if (beside.graph)
        cuGraphExecDestroy(beside.graph);
    beside.graph = NULL;
    return enclose(graph, &beside.graph);
}

/* One sample of the graph that was taken, or of nothing. */
int beside_run(bool empty, uint64_t *ret_ns, bool *ret_void)
{
    struct replay_sample sample = {0};
    int failed = gate_sample(&beside.gate, empty ? beside.nothing : beside.graph, beside.stream,
                             &sample, &beside.err);
    return told(failed, &sample, ret_ns, ret_void);
}
