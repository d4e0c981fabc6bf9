#include "batch.h"

#include "../../../sandbox/base/fail.h"

#define NODES_AROUND                                                                               \
    4u /* of a replay, beside its inputs and the call's own: clear, restore, gate, stop */

/* splitmix64's, of the replays before the last one. */
static uint64_t other(uint64_t seed, size_t i)
{
    uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static int add_clear(const struct batch_request *q, struct launch_target *target, kgrade_error *err)
{
    const struct arena *arena = q->place->arena;
    const CUDA_MEMSET_NODE_PARAMS params = {.dst = arena->scratch.from,
                                            .elementSize = sizeof(uint32_t),
                                            .width = arena->scratch.bytes / sizeof(uint32_t),
                                            .height = 1};
    CUgraphNode node = NULL;
    if (!arena->scratch.bytes)
        return 0;
    DRIVER_TRY(err, cuGraphAddMemsetNode(&node, target->graph, &target->last, target->last ? 1 : 0,
                                         &params, q->place->context->context));
    target->last = node;
    return 0;
}

static int add_replay(const struct batch_request *q, bool is_last, size_t i,
                      struct launch_target *target, kgrade_error *err)
{
    uint64_t seed = is_last ? q->seed : other(q->seed, i),
             poison = is_last ? q->poison : other(q->poison, i);
    CUgraphNode middle = NULL;
    if (add_clear(q, target, err) ||
        inputs_queue(q->place->kernels, target, arena_buffers(q->place->arena), q->task, q->layout,
                     seed, poison, err) ||
        restore_queue(q->restore, q->place->kernels, target, err))
        return -1;
    DRIVER_TRY(err, cuGraphAddChildGraphNode(&middle, target->graph, &target->last,
                                             target->last ? 1 : 0, q->middle->graph));
    target->last = middle;
    return 0;
}

static int build(const struct batch_request *q, size_t n, struct batch *batch, CUstream stream,
                 kgrade_error *err)
{
    DRIVER_TRY(err, cuGraphCreate(&batch->graph, 0));
    struct launch_target target = {.graph = batch->graph};
    for (size_t i = 0; i < n; i++)
        if (add_replay(q, i == n - 1, i, &target, err))
            return -1;
    DRIVER_TRY(err, cuGraphInstantiate(&batch->exec, batch->graph, 0));
    CUresult result = cuGraphUpload(batch->exec, stream);
    return result == CUDA_SUCCESS ? gate_wait(stream, io_now() + GATE_TIMEOUT_NS, err)
                                  : gate_fail(err, result, "Uploading a batch");
}

int batch_open(struct batch *ret, const struct batch_request *request, CUstream stream,
               size_t *ret_n, kgrade_error *err)
{
    struct batch batch = {.graph = NULL};
    size_t nodes = 0;
    DRIVER_TRY(err, cuGraphGetNodes(request->middle->graph, NULL, &nodes));
    size_t each = nodes + NODES_AROUND + 2 * request->layout->n_buffers,
           most = BATCH_MAX_NODES / each, n = request->n < most ? request->n : most;
    if (n && build(request, n, &batch, stream, err)) {
        batch_close(&batch);
        return -1;
    }
    *ret = batch;
    *ret_n = n;
    return 0;
}

void batch_close(struct batch *batch)
{
    if (batch->exec)
        cuGraphExecDestroy(batch->exec);
    if (batch->graph)
        cuGraphDestroy(batch->graph);
    *batch = (struct batch){.graph = NULL};
}

int batch_run(const struct batch *batch, struct gate *gate, CUstream stream, kgrade_error *err)
{
    gate_hold_open(gate);
    CUresult result = cuGraphLaunch(batch->exec, stream);
    return result == CUDA_SUCCESS ? gate_wait(stream, io_now() + GATE_TIMEOUT_NS, err)
                                  : gate_fail(err, result, "Launching a batch");
}
