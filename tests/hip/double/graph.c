/*
 * Graphs.  Of the nodes that could run next the one added last does: whoever forgets an edge gets another order than he
 * meant.
 */
#include <stdlib.h>
#include <string.h>

#include "double.h"

#define LAUNCH_NS 2000u
#define SMALL_NS 1000u /* of a copy or fill, and what each KiB of it takes on top: */
#define NS_PER_KIB 1u

struct hipGraphExec {
    struct ihipGraph *graph;
};

static unsigned long launches; /* of graphs with something in them, in this process */

struct hipGraphNode *graph_add(struct ihipGraph *graph, enum node_kind kind,
                               struct hipGraphNode *const *before, size_t n_before)
{
    struct hipGraphNode *node = calloc(1, sizeof *node);
    struct hipGraphNode **nodes = realloc(graph->nodes, (graph->n + 1) * sizeof(void *));
    if (!node || !nodes || n_before > DOUBLE_MAX_PREDECESSORS)
        abort();
    node->kind = kind;
    memcpy(node->before, before ? before : node->before, n_before * sizeof *before);
    node->n_before = n_before;
    graph->nodes = nodes;
    return graph->nodes[graph->n++] = node;
}

void graph_free(struct ihipGraph *graph)
{
    for (size_t i = 0; i < graph->n; i++) {
        free(graph->nodes[i]->launch.arguments);
        free((void *)graph->nodes[i]->parameters);
        free(graph->nodes[i]);
    }
    free((void *)graph->nodes);
    free(graph);
}

/* So much is copied within the device by those who measure, not by a test's candidates: it is timed, and not done. */
#define MEASURED_BYTES (200u << 20)

static bool is_measured(const struct hipGraphNode *copy)
{
    return copy->bytes >= MEASURED_BYTES && memory_is_device(copy->from, copy->bytes) &&
           memory_is_device(copy->to, copy->bytes);
}

static void fill(const struct hipGraphNode *node)
{
    uint8_t *to = node->to;
    if (node->value_bytes == 1) {
        memset(to, (int)node->value, node->bytes);
        return;
    }
    /* Of two bytes or four, the first of the value. */
    for (size_t i = 0; i < node->bytes; i++, to += node->value_bytes)
        if (node->value_bytes == 4)
            memcpy(to, &node->value, 4);
        else
            memcpy(to, &node->value, 2);
}

hipError_t node_run(const struct hipGraphNode *node)
{
    uint64_t begun = clock_begin();
    switch (node->kind) {
    case NODE_LAUNCH:
        return launch_run(&node->launch);
    case NODE_COPY:
        if (!is_measured(node))
            memmove(node->to, node->from, node->bytes);
        break;
    case NODE_FILL:
        fill(node);
        break;
    case NODE_EMPTY:
        return hipSuccess;
    }
    clock_end(begun, SMALL_NS + node->bytes * (node->kind == NODE_FILL ? node->value_bytes : 1) /
                                    1024 * NS_PER_KIB);
    return hipSuccess;
}

DOUBLE_API hipError_t hipGraphCreate(hipGraph_t *pGraph, unsigned int flags)
{
    (void)flags;
    *pGraph = calloc(1, sizeof **pGraph);
    return *pGraph ? device_state() : hipErrorOutOfMemory;
}

DOUBLE_API hipError_t hipGraphDestroy(hipGraph_t graph)
{
    graph_free(graph);
    return hipSuccess;
}

DOUBLE_API hipError_t hipGraphAddEmptyNode(hipGraphNode_t *pGraphNode, hipGraph_t graph,
                                           const hipGraphNode_t *pDependencies,
                                           size_t numDependencies)
{
    *pGraphNode = graph_add(graph, NODE_EMPTY, pDependencies, numDependencies);
    return device_state();
}

DOUBLE_API hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *numNodes)
{
    size_t n = nodes && *numNodes < graph->n ? *numNodes : graph->n;
    if (nodes)
        memcpy((void *)nodes, (void *)graph->nodes, n * sizeof *nodes);
    *numNodes = n;
    return device_state();
}

/* The arguments of a launch that the runtime has kept wrongly: its last one is lost. */
static void lose_last_argument(struct launch *launch)
{
    const struct code_object_kernel *kernel = launch->function->kernel;
    for (size_t i = kernel->n_args; i-- > 0;) {
        if (kernel->args[i].kind == CODE_ARG_HIDDEN)
            continue;
        memset(launch->arguments + kernel->args[i].offset, 0, kernel->args[i].size);
        return;
    }
}

DOUBLE_API hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t node,
                                                  hipKernelNodeParams *pNodeParams)
{
    if (node->kind != NODE_LAUNCH)
        return hipErrorInvalidValue;
    const struct launch *launch = &node->launch;
    const struct code_object_kernel *kernel = launch->function->kernel;
    if (script_has("last_argument"))
        lose_last_argument(&node->launch);
    if (!node->parameters) {
        node->parameters = calloc(kernel->n_args + 1, sizeof(void *));
        for (size_t i = 0; i < kernel->n_args; i++)
            node->parameters[i] = launch->arguments + kernel->args[i].offset;
    }
    *pNodeParams = (hipKernelNodeParams){.blockDim = launch->block,
                                         .func = launch->function,
                                         .gridDim = launch->grid,
                                         .kernelParams = node->parameters,
                                         .sharedMemBytes = launch->shared_bytes};
    return device_state();
}

static struct launch copy_of(const struct launch *launch)
{
    struct launch copy = *launch;
    copy.arguments = calloc(1, launch->function->kernel->kernarg_bytes + 8);
    memcpy(copy.arguments, launch->arguments, launch->function->kernel->kernarg_bytes);
    return copy;
}

/* An executable graph lives on without the one that it was made from. */
static struct ihipGraph *graph_copy(const struct ihipGraph *graph)
{
    struct ihipGraph *copy = calloc(1, sizeof *copy);
    for (size_t i = 0; i < graph->n; i++) {
        const struct hipGraphNode *from = graph->nodes[i];
        struct hipGraphNode *node = graph_add(copy, from->kind, NULL, 0), own = *from;
        own.parameters = NULL;
        if (own.kind == NODE_LAUNCH)
            own.launch = copy_of(&from->launch);
        /* Predecessors come earlier. */
        for (size_t k = 0; k < own.n_before; k++)
            for (size_t at = 0; at < i; at++)
                if (graph->nodes[at] == from->before[k])
                    own.before[k] = copy->nodes[at];
        *node = own;
        if (own.kind == NODE_LAUNCH && script_has("last_argument_at_launch"))
            lose_last_argument(&node->launch);
    }
    return copy;
}

DOUBLE_API hipError_t hipGraphInstantiate(hipGraphExec_t *pGraphExec, hipGraph_t graph,
                                          hipGraphNode_t *pErrorNode, char *pLogBuffer,
                                          size_t bufferSize)
{
    (void)pErrorNode, (void)pLogBuffer, (void)bufferSize;
    *pGraphExec = calloc(1, sizeof **pGraphExec);
    if (!*pGraphExec)
        return hipErrorOutOfMemory;
    (*pGraphExec)->graph = graph_copy(graph);
    return device_state();
}

DOUBLE_API hipError_t hipGraphExecDestroy(hipGraphExec_t graphExec)
{
    graph_free(graphExec->graph);
    free(graphExec);
    return hipSuccess;
}

static bool is_ready(const struct hipGraphNode *node)
{
    for (size_t i = 0; i < node->n_before; i++)
        if (!node->before[i]->done)
            return false;
    return !node->done;
}

static hipError_t run_nodes(struct ihipGraph *graph)
{
    for (size_t i = 0; i < graph->n; i++)
        graph->nodes[i]->done = false;
    for (size_t left = graph->n; left > 0; left--) {
        size_t next = graph->n;
        while (next > 0 && !is_ready(graph->nodes[next - 1]))
            next--;
        if (next == 0)
            return hipErrorInvalidValue;
        hipError_t error = node_run(graph->nodes[next - 1]);
        if (error || device_state())
            return error;
        graph->nodes[next - 1]->done = true;
    }
    return hipSuccess;
}

/* The last kernel's last pointer is where its results are, in every kernel of kernels.c. */
static void spoil(const struct ihipGraph *graph)
{
    for (size_t i = graph->n; i-- > 0;) {
        const struct launch *launch = &graph->nodes[i]->launch;
        if (graph->nodes[i]->kind != NODE_LAUNCH)
            continue;
        const struct code_object_kernel *kernel = launch->function->kernel;
        for (size_t k = kernel->n_args; k-- > 0;) {
            float *results;
            if (kernel->args[k].kind != CODE_ARG_BUFFER)
                continue;
            memcpy(&results, launch->arguments + kernel->args[k].offset, sizeof results);
            if (memory_is_device(results, sizeof *results))
                *results += 1;
            return;
        }
    }
}

DOUBLE_API hipError_t hipGraphLaunch(hipGraphExec_t graphExec, hipStream_t stream)
{
    struct ihipGraph *graph = graphExec->graph;
    if (device_state())
        return device_state();
    if (stream && stream->graph)
        return hipErrorStreamCaptureUnsupported;
    bool counts = graph->n > 0 && graph->nodes[graph->n - 1]->kind != NODE_EMPTY;
    launches += counts;
    if (counts && launches == (unsigned long)script_number("lost_at", 0)) {
        device_break(hipErrorUnknown);
        return hipSuccess;
    }
    if (counts && launches == (unsigned long)script_number("hangs_at", 0)) {
        device_hang();
        return hipSuccess;
    }
    clock_end(clock_begin(), LAUNCH_NS);
    hipError_t error = run_nodes(graph);
    long spoils = script_number("spoils_every", 0);
    if (!error && counts && spoils && launches % (unsigned long)spoils == 0)
        spoil(graph);
    return error;
}
