/*
 * Graphs inside graphs, as a candidate may capture them: what comes out is inside the limits of a recording, and orders
 * its nodes as the nested graph orders them, whatever way that is written down.
 *
 * Input: per graph its number of items and edges, then for each item whether it is a graph again, then its edges.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include "grader/devices/cuda/flatten.h"
#include "grader/recording.h"

#define MAX_NODES 24 /* of all graphs together: the check looks at all pairs */
#define MAX_DEPTH (FLATTEN_MAX_DEPTH + 2)

/* Where a node lies: the item in the outermost graph, the item in that one's graph, and so on. */
struct place {
    const struct flatten_graph *graphs[MAX_DEPTH];
    size_t items[MAX_DEPTH], depth;
};

static struct place places[MAX_NODES];
static size_t n_places;
static bool too_deep;

/* Edges lead from earlier to later items, as in any graph that has no cycle. */
static struct flatten_graph *grow(struct input *in, struct place *at)
{
    struct flatten_graph *g = calloc(1, sizeof *g);
    require(g);
    size_t n_items = input_below(in, 7), n_edges = input_below(in, 9);
    g->items = calloc(n_items + 1, sizeof *g->items);
    g->edges = calloc(n_edges + 1, sizeof *g->edges);
    require(g->items && g->edges);
    size_t depth = at->depth++;
    at->graphs[depth] = g;
    for (; g->n_items < n_items && n_places < MAX_NODES; g->n_items++) {
        at->items[depth] = g->n_items;
        bool is_graph = input_byte(in) % 3 == 1 && at->depth < MAX_DEPTH;
        if (is_graph)
            g->items[g->n_items].child = grow(in, at);
        else
            places[n_places] = *at;
        /* An empty graph still orders what is around it, as a node without a name would. */
        if (!is_graph)
            g->items[g->n_items].node = &places[n_places++];
    }
    for (size_t i = 0; i < n_edges && g->n_items > 1; i++) {
        size_t from = input_below(in, g->n_items - 1);
        size_t to = from + 1 + input_below(in, g->n_items - 1 - from);
        g->edges[g->n_edges++] = (struct flatten_edge){.from = from, .to = to};
    }
    at->depth--;
    too_deep |= depth > FLATTEN_MAX_DEPTH && g->n_items;
    return g;
}

/* Whether edges of the graph lead from one item to another. */
static bool leads(const struct flatten_graph *g, size_t from, size_t to)
{
    bool reached[8] = {false};
    reached[from] = true;
    for (size_t i = from; i < g->n_items; i++)
        for (size_t e = 0; reached[i] && e < g->n_edges; e++)
            if (g->edges[e].from == i)
                reached[g->edges[e].to] = true;
    return reached[to];
}

/* One comes before another when the graph that holds both orders the items in which they lie. */
static bool comes_before(const struct place *a, const struct place *b)
{
    size_t level = 0;
    while (a->items[level] == b->items[level])
        level++;
    return leads(a->graphs[level], a->items[level], b->items[level]);
}

static bool flat_order[2 * MAX_NODES][2 * MAX_NODES];

static void close_order(const struct flat_graph *flat)
{
    memset(flat_order, 0, sizeof flat_order);
    for (size_t i = 0; i < flat->n_edges; i++) {
        require(flat->edges[i].from < flat->n_nodes && flat->edges[i].to < flat->n_nodes);
        flat_order[flat->edges[i].from][flat->edges[i].to] = true;
    }
    for (size_t k = 0; k < flat->n_nodes; k++)
        for (size_t i = 0; i < flat->n_nodes; i++)
            for (size_t j = 0; flat_order[i][k] && j < flat->n_nodes; j++)
                flat_order[i][j] |= flat_order[k][j];
}

static void check_order(const struct flat_graph *flat)
{
    size_t found = 0;
    if (flat->n_nodes > 2 * MAX_NODES)
        return; /* many empty graphs */
    close_order(flat);
    for (size_t i = 0; i < flat->n_nodes; i++) {
        found += flat->nodes[i] != NULL;
        for (size_t j = 0; j < flat->n_nodes; j++)
            if (i != j && flat->nodes[i] && flat->nodes[j])
                require(flat_order[i][j] == comes_before(flat->nodes[i], flat->nodes[j]));
    }
    require(found == n_places);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct place at = {.depth = 0};
    struct flat_graph flat = {0};
    kgrade_error err = {.code = ""};
    n_places = 0;
    too_deep = false;
    struct flatten_graph *graph = grow(&in, &at);
    if (flatten(graph, &flat, &err)) {
        require(!strcmp(err.code, "too_many_nodes") && err.message[0]);
    } else {
        require(!too_deep && flat.n_nodes <= RECORDING_MAX_NODES &&
                flat.n_edges <= RECORDING_MAX_EDGES);
        check_order(&flat);
        flat_graph_free(&flat);
    }
    flatten_graph_free(graph);
    return 0;
}
