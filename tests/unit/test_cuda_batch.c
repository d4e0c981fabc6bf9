/* What a batch's graph is made of, with a driver that only writes down what is added. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "grader/devices/cuda/batch.h"

#define SEED 5u
#define POISON 6u
#define NODES 3u /* of the call's graph */
#define GRAPH ((CUgraph)0x10)
#define CALL ((CUgraph)0x20)
#define EXEC ((CUgraphExec)0x30)

static struct seen {
    char order[1024]; /* c: clear, i: inputs, r: restore, x: the call */
    uint64_t seeds[BATCH_MAX_NODES], poisons[BATCH_MAX_NODES];
    size_t n_order, n_inputs, nodes;
    uintptr_t last; /* the node added last */
    unsigned destroyed;
    bool fails, held_open, launched;
} seen;

static void add(char what, const CUgraphNode *before, size_t n)
{
    /* One after the other. */
    assert_int_equal(n, seen.n_order > 0);
    if (n)
        assert_int_equal((uintptr_t)*before, seen.last);
    seen.order[seen.n_order++ % (sizeof seen.order - 1)] = what;
}

CUresult cuGraphAddMemsetNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *before, size_t n,
                              const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
{
    (void)context;
    assert_ptr_equal(graph, GRAPH);
    add('c', before, n);
    assert_int_equal(params->dst, 0x1000);
    assert_int_equal(params->width * params->elementSize, 4096);
    assert_int_equal(params->height, 1);
    *ret = (CUgraphNode)++seen.last;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *before,
                                  size_t n, CUgraph child)
{
    assert_ptr_equal(graph, GRAPH);
    assert_ptr_equal(child, CALL);
    add('x', before, n);
    *ret = (CUgraphNode)++seen.last;
    return CUDA_SUCCESS;
}

int inputs_queue(const struct kernels *kernels, struct launch_target *target, CUdeviceptr base,
                 const struct task *task, const struct layout *layout, uint64_t seed,
                 uint64_t poison, kgrade_error *err)
{
    (void)kernels, (void)task, (void)layout, (void)err;
    assert_int_equal(base, 0x1000 + 4096);
    add('i', &target->last, target->last != NULL);
    target->last = (CUgraphNode)++seen.last;
    seen.seeds[seen.n_inputs] = seed;
    seen.poisons[seen.n_inputs++] = poison;
    return 0;
}

int restore_queue(const struct restore *restore, const struct kernels *kernels,
                  struct launch_target *target, kgrade_error *err)
{
    (void)restore, (void)kernels, (void)err;
    add('r', &target->last, target->last != NULL);
    target->last = (CUgraphNode)++seen.last;
    return 0;
}

CUresult cuGraphCreate(CUgraph *ret, unsigned int flags)
{
    (void)flags;
    *ret = GRAPH;
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate(CUgraphExec *ret, CUgraph graph, unsigned long long flags)
{
    (void)graph;
    assert_int_equal(flags, 0); /* never for launches from the device */
    if (seen.fails)
        return CUDA_ERROR_NOT_SUPPORTED;
    *ret = EXEC;
    return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
    (void)exec, (void)stream;
    return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    assert_ptr_equal(exec, EXEC);
    seen.destroyed++;
    return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph)
{
    assert_ptr_equal(graph, GRAPH);
    seen.destroyed++;
    return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
    assert_ptr_equal(graph, CALL);
    assert_null(nodes);
    *n = seen.nodes;
    return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    (void)stream;
    assert_ptr_equal(exec, EXEC);
    assert_true(seen.held_open);
    seen.launched = true;
    return CUDA_SUCCESS;
}

void gate_hold_open(struct gate *gate)
{
    (void)gate;
    seen.held_open = true;
}

int gate_wait(CUstream stream, uint64_t deadline, kgrade_error *err)
{
    (void)stream, (void)err;
    assert_true(deadline > 0);
    return 0;
}

int gate_fail(kgrade_error *err, CUresult result, const char *what)
{
    return driver_fail(err, "device_failed", result, what);
}

int driver_fail(kgrade_error *err, const char *code, CUresult result, const char *what)
{
    (void)result, (void)what;
    snprintf(err->code, sizeof err->code, "%s", code);
    return -1;
}

static int open_batch(struct batch *ret, size_t nodes, size_t n, size_t *ret_n, kgrade_error *err)
{
    static const struct driver_context context;
    static const struct arena arena = {
        .address = 0x1000, .workspace_bytes = 4096, .scratch = {.from = 0x1000, .bytes = 4096}};
    static const struct kernels kernels;
    static const struct layout layout = {.n_buffers = 2};
    static const struct restore restore = {.n = 1};
    const struct rebuild_place place = {&context, &arena, &kernels, NULL};
    const struct rebuilt middle = {.graph = CALL};
    const struct batch_request request = {&place,   NULL, &layout, &middle,
                                          &restore, n,    SEED,    POISON};
    bool fails = seen.fails;
    seen = (struct seen){.nodes = nodes, .fails = fails};
    *err = (kgrade_error){.code = ""};
    return batch_open(ret, &request, NULL, ret_n, err);
}

static void each_replay_has_inputs_of_its_own_and_the_last_one_those_asked_for(void **state)
{
    (void)state;
    struct batch batch;
    kgrade_error err;
    size_t n;
    assert_int_equal(open_batch(&batch, NODES, 3, &n, &err), 0);
    assert_int_equal(n, 3);
    assert_string_equal(seen.order, "cirxcirxcirx");
    assert_int_equal(seen.seeds[2], SEED);
    assert_int_equal(seen.poisons[2], POISON);
    for (size_t i = 0; i < 2; i++) {
        assert_int_not_equal(seen.seeds[i], SEED);
        assert_int_not_equal(seen.poisons[i], POISON);
        assert_int_not_equal(seen.seeds[i], seen.poisons[i]);
    }
    assert_int_not_equal(seen.seeds[0], seen.seeds[1]);
    struct gate gate = {.ahead_ns = 0};
    assert_int_equal(batch_run(&batch, &gate, NULL, &err), 0);
    assert_true(seen.launched);
    batch_close(&batch);
    assert_int_equal(seen.destroyed, 2);
    batch_close(&batch);
    assert_int_equal(seen.destroyed, 2);
}

static void a_call_of_many_nodes_is_replayed_less_often(void **state)
{
    (void)state;
    struct batch batch;
    kgrade_error err;
    size_t n;
    assert_int_equal(open_batch(&batch, BATCH_MAX_NODES / 4, 24, &n, &err), 0);
    assert_int_equal(n, 3);
    assert_int_equal(seen.seeds[2], SEED);
    batch_close(&batch);
    assert_int_equal(open_batch(&batch, BATCH_MAX_NODES, 24, &n, &err), 0);
    assert_int_equal(n, 0);
    assert_null(batch.exec);
    batch_close(&batch);
    assert_int_equal(seen.destroyed, 0);
}

static void a_graph_that_cannot_be_made_leaves_nothing(void **state)
{
    (void)state;
    struct batch batch = {.graph = NULL};
    kgrade_error err;
    size_t n;
    seen.fails = true;
    assert_int_equal(open_batch(&batch, NODES, 3, &n, &err), -1);
    assert_string_equal(err.code, "device_failed");
    assert_int_equal(seen.destroyed, 1);
    assert_null(batch.graph);
    seen.fails = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_replay_has_inputs_of_its_own_and_the_last_one_those_asked_for),
        cmocka_unit_test(a_call_of_many_nodes_is_replayed_less_often),
        cmocka_unit_test(a_graph_that_cannot_be_made_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
