#include "flatten.h"

#include <stdbool.h>
#include <stdlib.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "../../recording.h"

#define TOO_MANY_HINT "Do the work of one call in fewer, larger kernels."

/* The flat nodes that an item became: those that nothing inside comes before, and those that nothing comes after. */
struct ends {
    size_t *first, *last;
    size_t n_first, n_last;
};

struct flattener {
    struct flat_graph out;
    kgrade_error *err;
};

static int add_node(struct flattener *f, void *node, size_t *ret)
{
    if (f->out.n_nodes == RECORDING_MAX_NODES)
        return fail(f->err, "too_many_nodes", TOO_MANY_HINT,
                    "The call queues more than %d operations.", RECORDING_MAX_NODES);
    if (f->out.n_nodes == f->out.nodes_room) {
        size_t room = f->out.nodes_room ? 2 * f->out.nodes_room : 64;
        void **nodes = realloc(f->out.nodes, room * sizeof *nodes);
        if (!nodes)
            return fail(f->err, "out_of_memory", NULL, "No memory for a graph.");
        f->out.nodes = nodes;
        f->out.nodes_room = room;
    }
    *ret = f->out.n_nodes;
    f->out.nodes[f->out.n_nodes++] = node;
    return 0;
}

static int add_edge(struct flattener *f, struct flatten_edge edge)
{
    if (f->out.n_edges == RECORDING_MAX_EDGES)
        return fail(f->err, "too_many_nodes", TOO_MANY_HINT,
                    "The call's operations depend on each other in more than %d places.",
                    RECORDING_MAX_EDGES);
    if (f->out.n_edges == f->out.edges_room) {
        size_t room = f->out.edges_room ? 2 * f->out.edges_room : 64;
        struct flatten_edge *edges = realloc(f->out.edges, room * sizeof *edges);
        if (!edges)
            return fail(f->err, "out_of_memory", NULL, "No memory for a graph.");
        f->out.edges = edges;
        f->out.edges_room = room;
    }
    f->out.edges[f->out.n_edges++] = edge;
    return 0;
}

static void free_ends(struct ends *ends, size_t n)
{
    for (size_t i = 0; ends && i < n; i++) {
        free(ends[i].first);
        free(ends[i].last);
    }
    free(ends);
}

static int single(struct flattener *f, void *node, struct ends *ret)
{
    size_t index = 0;
    ret->first = malloc(sizeof *ret->first);
    ret->last = malloc(sizeof *ret->last);
    if (!ret->first || !ret->last)
        return fail(f->err, "out_of_memory", NULL, "No memory for a graph.");
    if (add_node(f, node, &index))
        return -1;
    ret->first[0] = ret->last[0] = index;
    ret->n_first = ret->n_last = 1;
    return 0;
}

static int connect(struct flattener *f, const struct ends *from, const struct ends *to,
                   struct flatten_edge edge)
{
    for (size_t i = 0; i < from->n_last; i++)
        for (size_t k = 0; k < to->n_first; k++) {
            edge.from = from->last[i];
            edge.to = to->first[k];
            if (add_edge(f, edge))
                return -1;
        }
    return 0;
}

/* What of a graph's items has nothing before or nothing after it, as flat nodes. */
static int gather(struct flattener *f, const struct flatten_graph *graph, const struct ends *items,
                  bool want_first, size_t **ret, size_t *ret_n)
{
    cleanup_free bool *inner = calloc(graph->n_items + 1, sizeof *inner);
    size_t n = 0;
    if (!inner)
        return fail(f->err, "out_of_memory", NULL, "No memory for a graph.");
    for (size_t i = 0; i < graph->n_edges; i++)
        inner[want_first ? graph->edges[i].to : graph->edges[i].from] = true;
    for (size_t i = 0; i < graph->n_items; i++)
        n += inner[i] ? 0 : want_first ? items[i].n_first : items[i].n_last;
    size_t *list = malloc((n + 1) * sizeof *list);
    if (!list)
        return fail(f->err, "out_of_memory", NULL, "No memory for a graph.");
    *ret = list;
    *ret_n = n;
    for (size_t i = 0; i < graph->n_items; i++) {
        const size_t *of_item = want_first ? items[i].first : items[i].last;
        for (size_t k = 0; !inner[i] && k < (want_first ? items[i].n_first : items[i].n_last); k++)
            *list++ = of_item[k];
    }
    return 0;
}

static int flatten_into(struct flattener *f, const struct flatten_graph *graph, unsigned int depth,
                        struct ends *ret);

static int flatten_items(struct flattener *f, const struct flatten_graph *graph, unsigned int depth,
                         struct ends *ends)
{
    for (size_t i = 0; i < graph->n_items; i++) {
        const struct flatten_item *item = &graph->items[i];
        /* A graph without nodes still orders what is around it. */
        bool is_node = !item->child || item->child->n_items == 0;
        if (is_node ? single(f, item->child ? NULL : item->node, &ends[i])
                    : flatten_into(f, item->child, depth + 1, &ends[i]))
            return -1;
    }
    for (size_t i = 0; i < graph->n_edges; i++) {
        const struct flatten_edge *edge = &graph->edges[i];
        if (edge->from >= graph->n_items || edge->to >= graph->n_items)
            return fail(f->err, "capture_failed", NULL, "An edge of the graph leads nowhere.");
        if (connect(f, &ends[edge->from], &ends[edge->to], *edge))
            return -1;
    }
    return 0;
}

static int flatten_into(struct flattener *f, const struct flatten_graph *graph, unsigned int depth,
                        struct ends *ret)
{
    if (depth > FLATTEN_MAX_DEPTH)
        return fail(f->err, "too_many_nodes", "Nest graphs less deeply.",
                    "Graphs lie in graphs more than %u deep.", FLATTEN_MAX_DEPTH);
    struct ends *ends = calloc(graph->n_items + 1, sizeof *ends);
    if (!ends)
        return fail(f->err, "out_of_memory", NULL, "No memory for a graph.");
    int result = flatten_items(f, graph, depth, ends);
    if (!result && ret)
        result = gather(f, graph, ends, true, &ret->first, &ret->n_first) ||
                         gather(f, graph, ends, false, &ret->last, &ret->n_last)
                     ? -1
                     : 0;
    free_ends(ends, graph->n_items);
    return result;
}

int flatten(const struct flatten_graph *graph, struct flat_graph *ret, kgrade_error *err)
{
    struct flattener f = {.err = err};
    if (flatten_into(&f, graph, 0, NULL)) {
        flat_graph_free(&f.out);
        return -1;
    }
    *ret = f.out;
    return 0;
}

void flat_graph_free(struct flat_graph *flat)
{
    free(flat->nodes);
    free(flat->edges);
    *flat = (struct flat_graph){0};
}

void flatten_graph_free(struct flatten_graph *graph)
{
    if (!graph)
        return;
    for (size_t i = 0; i < graph->n_items; i++)
        flatten_graph_free(graph->items[i].child);
    free(graph->items);
    free(graph->edges);
    free(graph);
}
