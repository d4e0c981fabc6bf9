#define _GNU_SOURCE
#include "capture.h"

#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "capture_node.h"
#include "flatten.h"

/* A node with its place in the driver's list. */
struct place {
    CUgraphNode node;
    size_t index;
};

static int by_node(const void *a, const void *b)
{
    uintptr_t left = (uintptr_t)((const struct place *)a)->node,
              right = (uintptr_t)((const struct place *)b)->node;
    return left < right ? -1 : left > right;
}

static int no_memory(kgrade_error *err)
{
    return fail(err, "out_of_memory", NULL, "No memory for a captured graph.");
}

static int read_graph(CUgraph graph, unsigned int depth, struct flatten_graph **ret,
                      kgrade_error *err);

static int read_nodes(CUgraph graph, unsigned int depth, struct flatten_graph *out,
                      struct place **ret_places, kgrade_error *err)
{
    size_t n = 0;
    DRIVER_TRY(err, cuGraphGetNodes(graph, NULL, &n));
    if (n > RECORDING_MAX_NODES)
        return fail(err, "too_many_nodes", "Do the work of one call in fewer, larger kernels.",
                    "The call queues %zu operations; at most %d can be recorded.", n,
                    RECORDING_MAX_NODES);
    cleanup_free CUgraphNode *nodes = calloc(n + 1, sizeof *nodes);
    *ret_places = calloc(n + 1, sizeof **ret_places);
    out->items = calloc(n + 1, sizeof *out->items);
    if (!nodes || !*ret_places || !out->items)
        return no_memory(err);
    if (n) /* asking for no nodes is an error of its own */
        DRIVER_TRY(err, cuGraphGetNodes(graph, nodes, &n));
    out->n_items = n;
    for (size_t i = 0; i < n; i++) {
        CUgraphNodeType type;
        CUgraph child = NULL;
        (*ret_places)[i] = (struct place){nodes[i], i};
        out->items[i].node = nodes[i];
        DRIVER_TRY(err, cuGraphNodeGetType(nodes[i], &type));
        if (type != CU_GRAPH_NODE_TYPE_GRAPH)
            continue;
        DRIVER_TRY(err, cuGraphChildGraphNodeGetGraph(nodes[i], &child));
        if (read_graph(child, depth + 1, &out->items[i].child, err))
            return -1;
    }
    qsort(*ret_places, n, sizeof **ret_places, by_node);
    return 0;
}

static int read_edges(CUgraph graph, struct flatten_graph *out, const struct place *places,
                      kgrade_error *err)
{
    size_t n = 0;
    DRIVER_TRY(err, cuGraphGetEdges(graph, NULL, NULL, NULL, &n));
    if (n > RECORDING_MAX_EDGES)
        return fail(
            err, "too_many_nodes", "Do the work of one call in fewer, larger kernels.",
            "The call's operations depend on each other in %zu places; at most %d can be recorded.",
            n, RECORDING_MAX_EDGES);
    cleanup_free CUgraphNode *from = calloc(n + 1, sizeof *from), *to = calloc(n + 1, sizeof *to);
    cleanup_free CUgraphEdgeData *data = calloc(n + 1, sizeof *data);
    out->edges = calloc(n + 1, sizeof *out->edges);
    if (!from || !to || !data || !out->edges)
        return no_memory(err);
    if (n)
        DRIVER_TRY(err, cuGraphGetEdges(graph, from, to, data, &n));
    out->n_edges = n;
    for (size_t i = 0; i < n; i++) {
        struct place key[2] = {{.node = from[i]}, {.node = to[i]}};
        const struct place *a = bsearch(&key[0], places, out->n_items, sizeof *places, by_node);
        const struct place *b = bsearch(&key[1], places, out->n_items, sizeof *places, by_node);
        if (!a || !b)
            return fail(err, "capture_failed", NULL,
                        "An edge of the captured graph leads nowhere.");
        out->edges[i] = (struct flatten_edge){a->index, b->index, data[i].from_port,
                                              data[i].to_port, data[i].type};
    }
    return 0;
}

static int read_graph(CUgraph graph, unsigned int depth, struct flatten_graph **ret,
                      kgrade_error *err)
{
    if (depth > FLATTEN_MAX_DEPTH)
        return fail(err, "too_many_nodes", "Nest graphs less deeply.",
                    "Graphs lie in graphs more than %u deep.", FLATTEN_MAX_DEPTH);
    cleanup_free struct place *places = NULL;
    struct flatten_graph *out = calloc(1, sizeof *out);
    if (!out)
        return no_memory(err);
    if (read_nodes(graph, depth, out, &places, err) || read_edges(graph, out, places, err)) {
        flatten_graph_free(out);
        return -1;
    }
    *ret = out;
    return 0;
}

int capture_count(CUgraph graph, struct capture_counts *ret, kgrade_error *err)
{
    size_t n = 0;
    struct capture_counts counts = {0};
    DRIVER_TRY(err, cuGraphGetNodes(graph, NULL, &n));
    cleanup_free CUgraphNode *nodes = calloc(n + 1, sizeof *nodes);
    if (!nodes)
        return no_memory(err);
    if (n)
        DRIVER_TRY(err, cuGraphGetNodes(graph, nodes, &n));
    for (size_t i = 0; i < n; i++) {
        CUgraphNodeType type;
        DRIVER_TRY(err, cuGraphNodeGetType(nodes[i], &type));
        counts.kernels += type == CU_GRAPH_NODE_TYPE_KERNEL;
        counts.graphs += type == CU_GRAPH_NODE_TYPE_GRAPH;
    }
    *ret = counts;
    return 0;
}

static int write_flat(struct capture *c, const struct flat_graph *flat)
{
    for (size_t i = 0; i < flat->n_nodes; i++)
        if (capture_node(c, flat->nodes[i], i))
            return -1;
    for (size_t i = 0; i < flat->n_edges; i++) {
        const struct flatten_edge *edge = &flat->edges[i];
        if (recording_add_edge(c->call, (uint32_t)edge->from, (uint32_t)edge->to))
            return no_memory(c->err);
        struct recording_edge *written = &c->call->edges[c->call->n_edges - 1];
        written->from_port = edge->from_port;
        written->to_port = edge->to_port;
        written->type = edge->type;
    }
    return capture_memory(c) || capture_globals(c) ? -1 : 0;
}

int capture_write(CUgraph graph, const struct capture_place *place, struct recording *recording,
                  kgrade_error *err)
{
    struct flatten_graph *found = NULL;
    struct flat_graph flat = {0};
    if (read_graph(graph, 0, &found, err))
        return -1;
    int result = flatten(found, &flat, err);
    flatten_graph_free(found);
    if (result)
        return -1;
    struct capture c = {.place = place,
                        .recording = recording,
                        .call = &recording->calls[recording->n_calls - 1],
                        .err = err};
    result = write_flat(&c, &flat);
    driver_trace("captured %zu nodes, %zu edges, %zu images, %zu buffers, %zu variables",
                 c.call->n_nodes, c.call->n_edges, c.n_images, c.call->n_buffers,
                 c.call->n_globals);
    free(c.images);
    flat_graph_free(&flat);
    return result;
}
