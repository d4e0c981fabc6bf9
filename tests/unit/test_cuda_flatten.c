#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grader/devices/cuda/flatten.h"
#include "grader/recording.h"

/* Nodes are letters. */
static char letters[] = "abcdefghijklmnopqrstuvwxyz";

static struct flatten_graph *graph(size_t n_items, size_t n_edges)
{
    struct flatten_graph *g = calloc(1, sizeof *g);
    g->items = calloc(n_items + 1, sizeof *g->items);
    g->edges = calloc(n_edges + 1, sizeof *g->edges);
    g->n_items = n_items;
    g->n_edges = n_edges;
    return g;
}

static void *node(char letter)
{
    return &letters[letter - 'a'];
}

static size_t find(const struct flat_graph *flat, char letter)
{
    for (size_t i = 0; i < flat->n_nodes; i++)
        if (flat->nodes[i] == node(letter))
            return i;
    fail_msg("no node %c", letter);
    return 0;
}

static bool has_edge(const struct flat_graph *flat, char from, char to)
{
    for (size_t i = 0; i < flat->n_edges; i++)
        if (flat->edges[i].from == find(flat, from) && flat->edges[i].to == find(flat, to))
            return true;
    return false;
}

static void a_flat_graph_stays_as_it_is(void **state)
{
    (void)state;
    struct flatten_graph *g = graph(3, 2);
    for (int i = 0; i < 3; i++)
        g->items[i].node = node((char)('a' + i));
    g->edges[0] = (struct flatten_edge){0, 1, 1, 0, 1};
    g->edges[1] = (struct flatten_edge){1, 2, 0, 0, 0};
    struct flat_graph flat = {0};
    kgrade_error err;
    assert_int_equal(flatten(g, &flat, &err), 0);
    assert_int_equal(flat.n_nodes, 3);
    assert_int_equal(flat.n_edges, 2);
    assert_true(has_edge(&flat, 'a', 'b') && has_edge(&flat, 'b', 'c'));
    assert_int_equal(flat.edges[0].from_port, 1); /* programmatic edges stay programmatic */
    assert_int_equal(flat.edges[0].type, 1);
    flat_graph_free(&flat);
    flatten_graph_free(g);
}

/* a -> [b, c -> d] -> e */
static void a_child_is_entered_at_all_roots_and_left_at_all_leaves(void **state)
{
    (void)state;
    struct flatten_graph *g = graph(3, 2), *child = graph(3, 1);
    for (int i = 0; i < 3; i++)
        child->items[i].node = node((char)('b' + i));
    child->edges[0] = (struct flatten_edge){1, 2, 0, 0, 0};
    g->items[0].node = node('a');
    g->items[1].node = node('z');
    g->items[1].child = child;
    g->items[2].node = node('e');
    g->edges[0] = (struct flatten_edge){0, 1, 0, 0, 0};
    g->edges[1] = (struct flatten_edge){1, 2, 0, 0, 0};
    struct flat_graph flat = {0};
    kgrade_error err;
    assert_int_equal(flatten(g, &flat, &err), 0);
    assert_int_equal(flat.n_nodes, 5);
    assert_int_equal(flat.n_edges, 5);
    assert_true(has_edge(&flat, 'a', 'b') && has_edge(&flat, 'a', 'c') &&
                has_edge(&flat, 'c', 'd') && has_edge(&flat, 'b', 'e') &&
                has_edge(&flat, 'd', 'e'));
    flat_graph_free(&flat);
    flatten_graph_free(g);
}

static void an_empty_child_still_orders(void **state)
{
    (void)state;
    struct flatten_graph *g = graph(3, 2);
    g->items[0].node = node('a');
    g->items[1].child = graph(0, 0);
    g->items[2].node = node('b');
    g->edges[0] = (struct flatten_edge){0, 1, 0, 0, 0};
    g->edges[1] = (struct flatten_edge){1, 2, 0, 0, 0};
    struct flat_graph flat = {0};
    kgrade_error err;
    assert_int_equal(flatten(g, &flat, &err), 0);
    assert_int_equal(flat.n_nodes, 3);
    assert_int_equal(flat.n_edges, 2);
    assert_null(flat.nodes[flat.edges[0].to]);
    assert_int_equal(flat.edges[0].to, flat.edges[1].from);
    flat_graph_free(&flat);
    flatten_graph_free(g);
}

static struct flatten_graph *nested(unsigned depth)
{
    struct flatten_graph *g = graph(1, 0);
    g->items[0].node = node('a');
    for (unsigned i = 0; i < depth; i++) {
        struct flatten_graph *outer = graph(1, 0);
        outer->items[0].child = g;
        g = outer;
    }
    return g;
}

static void depth_has_a_limit(void **state)
{
    (void)state;
    struct flat_graph flat = {0};
    kgrade_error err;
    struct flatten_graph *g = nested(FLATTEN_MAX_DEPTH);
    assert_int_equal(flatten(g, &flat, &err), 0);
    assert_int_equal(flat.n_nodes, 1);
    flat_graph_free(&flat);
    flatten_graph_free(g);
    g = nested(FLATTEN_MAX_DEPTH + 1);
    assert_int_equal(flatten(g, &flat, &err), -1);
    assert_string_equal(err.code, "too_many_nodes");
    flatten_graph_free(g);
}

static void nodes_have_a_limit(void **state)
{
    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        struct flatten_graph *g = graph(RECORDING_MAX_NODES + extra, 0);
        struct flat_graph flat = {0};
        kgrade_error err = {.code = ""};
        assert_int_equal(flatten(g, &flat, &err), extra ? -1 : 0);
        assert_string_equal(err.code, extra ? "too_many_nodes" : "");
        flat_graph_free(&flat);
        flatten_graph_free(g);
    }
}

/* Two wide graphs after one another: every leaf before every root. */
static void edges_have_a_limit(void **state)
{
    (void)state;
    struct flatten_graph *g = graph(2, 1);
    g->items[0].child = graph(300, 0);
    g->items[1].child = graph(300, 0);
    g->edges[0] = (struct flatten_edge){0, 1, 0, 0, 0};
    struct flat_graph flat = {0};
    kgrade_error err;
    assert_int_equal(flatten(g, &flat, &err), -1);
    assert_string_equal(err.code, "too_many_nodes");
    flatten_graph_free(g);
}

static void an_edge_to_nowhere_is_refused(void **state)
{
    (void)state;
    struct flatten_graph *g = graph(1, 1);
    g->items[0].node = node('a');
    g->edges[0] = (struct flatten_edge){0, 1, 0, 0, 0};
    struct flat_graph flat = {0};
    kgrade_error err;
    assert_int_equal(flatten(g, &flat, &err), -1);
    assert_string_equal(err.code, "capture_failed");
    flatten_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flat_graph_stays_as_it_is),
        cmocka_unit_test(a_child_is_entered_at_all_roots_and_left_at_all_leaves),
        cmocka_unit_test(an_empty_child_still_orders),
        cmocka_unit_test(depth_has_a_limit),
        cmocka_unit_test(nodes_have_a_limit),
        cmocka_unit_test(edges_have_a_limit),
        cmocka_unit_test(an_edge_to_nowhere_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
