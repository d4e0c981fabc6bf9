/*
 * Graphs inside graphs become one: a node that stands for a graph is replaced by that graph's nodes, what came
 * before it comes before the graph's first nodes, and its last nodes come before what came after it.
 */
#ifndef KGRADE_CUDA_FLATTEN_H
#define KGRADE_CUDA_FLATTEN_H

#include <stddef.h>
#include <stdint.h>

#include "../../../sandbox/base/error.h"

#define FLATTEN_MAX_DEPTH 16u

struct flatten_edge {
    size_t from, to;
    uint8_t from_port, to_port, type;
};

/* A graph as it is found. */
struct flatten_graph {
    struct flatten_item {
        void *node;
        struct flatten_graph *child; /* NULL: a node of its own; else owned */
    } * items;
    size_t n_items;
    struct flatten_edge *edges;
    size_t n_edges;
};

/* A graph without graphs in it. */
struct flat_graph {
    void **nodes; /* NULL: an empty node, which only orders */
    size_t n_nodes, nodes_room;
    struct flatten_edge *edges;
    size_t n_edges, edges_room;
};

/* -1 with `too_many_nodes` (limits of recordings) or `out_of_memory`. */
int flatten(const struct flatten_graph *graph, struct flat_graph *ret, kgrade_error *err);

void flat_graph_free(struct flat_graph *flat);
void flatten_graph_free(struct flatten_graph *graph); /* with what it owns; NULL is allowed */

#endif
