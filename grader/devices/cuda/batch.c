#include "batch.h"

#include "../../../sandbox/base/fail.h"

#define POISON_STEP 0x9e3779b97f4a7c15ull

static int add_replay(const struct batch_request *q, size_t i, struct launch_target *target,
                      kgrade_error *err)
{
    uint64_t poison = q->poison + (q->n - 1 - i) * POISON_STEP;
    CUgraphNode child = NULL;
    if (inputs_queue(q->place->kernels, target, arena_buffers(q->place->arena), q->task, q->layout,
                     q->seeds[i], poison, err) ||
        restore_queue(q->restore, q->place->kernels, target, err))
        return -1;
    DRIVER_TRY(err, cuGraphAddChildGraphNode(&child, target->graph, &target->last,
                                             target->last ? 1 : 0, q->middle->graph));
    target->last = child;
    return 0;
}

static int build(const struct batch_request *q, CUgraph graph, CUgraphExec *ret, CUstream stream,
                 kgrade_error *err)
{
    struct launch_target target = {.graph = graph};
    for (size_t i = 0; i < q->n; i++)
        if (add_replay(q, i, &target, err))
            return -1;
    DRIVER_TRY(err, cuGraphInstantiate(ret, graph, 0));
    DRIVER_TRY(err, cuGraphUpload(*ret, stream));
    return 0;
}

int batch_run(const struct batch_request *request, struct gate *gate, CUstream stream,
              uint64_t *ret_ns, kgrade_error *err)
{
    size_t nodes = 0;
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    DRIVER_TRY(err, cuGraphGetNodes(request->middle->graph, NULL, &nodes));
    if (request->n == 0 || request->n > BATCH_MAX_REPLAYS ||
        nodes > RECORDING_MAX_NODES / request->n)
        return fail(err, "batch_too_large", "Ask for fewer replays at once.",
                    "A batch of %zu replays of %zu nodes is too large.", request->n, nodes);
    DRIVER_TRY(err, cuGraphCreate(&graph, 0));
    int result = build(request, graph, &exec, stream, err);
    if (!result)
        result = gate_wait(stream, io_now() + GATE_TIMEOUT_NS, err);
    if (!result) {
        gate_hold_open(gate);
        uint64_t start = io_now();
        CUresult launched = cuGraphLaunch(exec, stream);
        result = launched == CUDA_SUCCESS ? gate_wait(stream, start + GATE_TIMEOUT_NS, err)
                                          : gate_fail(err, launched, "Launching a batch");
        *ret_ns = io_now() - start;
    }
    if (exec && !result)
        cuGraphExecDestroy(exec);
    cuGraphDestroy(graph);
    return result;
}
