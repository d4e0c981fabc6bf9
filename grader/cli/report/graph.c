/* The graph of each recorded call, as a list in the order of recording with arrows between the nodes. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../text.h"
#include "../view.h"
#include "html.h"
#include "report.h"
#include "sections.h"

/* The nodes that one node waits for. */
struct arrows {
    json_int_t from[REPORT_MAX_EDGES];
    size_t n; /* of which the first REPORT_MAX_EDGES are known */
};

static void read_arrows(const json_t *call, struct arrows into[REPORT_MAX_NODES])
{
    size_t i;
    json_t *edge;
    json_array_foreach(view_at(call, "edges"), i, edge)
    {
        json_int_t from = json_integer_value(json_array_get(edge, 0)),
                   to = json_integer_value(json_array_get(edge, 1));
        if (json_array_size(edge) < 2 || to < 0 || to >= (json_int_t)REPORT_MAX_NODES)
            continue;
        struct arrows *a = &into[to];
        if (a->n < REPORT_MAX_EDGES)
            a->from[a->n] = from;
        a->n++;
    }
}

/* "4096 × 2" from [4096, 2, 1]; false when all are 0: then the runtime chooses. */
static bool write_shape(FILE *out, const json_t *shape)
{
    size_t n = json_array_size(shape);
    while (n > 1 && json_integer_value(json_array_get(shape, n - 1)) <= 1)
        n--;
    if (n == 0 || json_integer_value(json_array_get(shape, 0)) == 0)
        return false;
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%" JSON_INTEGER_FORMAT, i ? " × " : "",
                json_integer_value(json_array_get(shape, i)));
    return true;
}

static void write_kernel(FILE *out, const json_t *node, bool in_items)
{
    const char *name = view_string(node, "name");
    fputs("<code>", out);
    html_text_cut(out, name ? name : "kernel", REPORT_MAX_NAME);
    fputs("</code><span class=\"dim\">grid ", out);
    if (!write_shape(out, view_at(node, "grid")))
        fputs("unknown", out);
    fputs(in_items ? " work-items · block " : " · block ", out);
    if (!write_shape(out, view_at(node, "block")))
        fputs("chosen by the runtime", out);
    double shared = view_number(node, "shared_bytes");
    if (shared > 0)
        fprintf(out, " · %.0f bytes shared", shared);
    size_t n = json_array_size(view_at(node, "args"));
    fprintf(out, " · %zu argument%s", n, n == 1 ? "" : "s");
    cleanup_free char *resources = view_assignments(view_at(node, "resources"));
    if (resources && *resources) {
        fputs(" · ", out);
        html_text_cut(out, resources, REPORT_MAX_NAME);
    }
    fputs("</span>", out);
}

static void write_move(FILE *out, const json_t *node, const char *kind)
{
    html_element(out, "code", NULL, kind);
    double bytes = view_number(node, "bytes") * view_number(node, "rows");
    if (bytes >= 0) {
        fputs("<span class=\"dim\">", out);
        html_text(out, text_scaled(bytes, "B").text);
        fputs("</span>", out);
    }
}

static void write_arrows(FILE *out, const struct arrows *a)
{
    if (!a->n)
        return;
    fputs("<span class=\"after\">after ", out);
    for (size_t i = 0; i < a->n && i < REPORT_MAX_EDGES; i++)
        fprintf(out, "%s%" JSON_INTEGER_FORMAT, i ? ", " : "", a->from[i]);
    if (a->n > REPORT_MAX_EDGES)
        fprintf(out, " and %zu more", a->n - REPORT_MAX_EDGES);
    fputs("</span>", out);
}

/* Whether an arrow leads to the node that is next in the list. */
static bool leads_on(const struct arrows *next, size_t index)
{
    for (size_t i = 0; i < next->n && i < REPORT_MAX_EDGES; i++)
        if (next->from[i] == (json_int_t)index)
            return true;
    return false;
}

static void write_node(FILE *out, const json_t *node, size_t index, const struct arrows *a,
                       bool leads, bool in_items)
{
    const char *kind = view_string(node, "kind");
    fprintf(out, "<li%s><span class=\"number\">%zu</span><div>", leads ? " class=\"leads\"" : "",
            index);
    if (kind && !strcmp(kind, "kernel"))
        write_kernel(out, node, in_items);
    else
        write_move(out, node, kind ? kind : "node");
    write_arrows(out, a);
    fputs("</div></li>\n", out);
}

/* The names of dims are in the result only. */
static const json_t *find_case(const json_t *cases, const json_t *dims)
{
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i), *named = view_at(one, "dims");
        const char *key;
        json_t *value;
        size_t k = 0;
        bool same = json_object_size(named) > 0 && json_object_size(named) == json_array_size(dims);
        json_object_foreach(view_members(named), key, value) same =
            same && json_equal(value, json_array_get(dims, k++));
        if (same)
            return one;
    }
    return NULL;
}

static void write_call(FILE *out, const json_t *call, const json_t *cases, bool open, bool in_items)
{
    static const struct arrows none = {.n = 0};
    struct arrows into[REPORT_MAX_NODES];
    for (size_t i = 0; i < REPORT_MAX_NODES; i++)
        into[i] = none;
    read_arrows(call, into);
    const json_t *nodes = view_at(call, "nodes");
    const json_t *one = find_case(cases, view_at(call, "dims"));
    size_t n = json_array_size(nodes);
    fprintf(out, "<details%s><summary>", open ? " open=\"open\"" : "");
    if (one) {
        section_case_name(out, one);
    } else {
        cleanup_free char *dims = view_brief(view_at(call, "dims"));
        html_text(out, dims ? dims : "call");
    }
    fprintf(out, " <span class=\"dim\">%zu node%s</span></summary>\n", n, n == 1 ? "" : "s");
    if (n)
        fputs("<ol class=\"graph\">\n", out);
    for (size_t i = 0; i < n && i < REPORT_MAX_NODES; i++)
        write_node(out, json_array_get(nodes, i), i, &into[i],
                   i + 1 < n && i + 1 < REPORT_MAX_NODES && leads_on(&into[i + 1], i), in_items);
    if (n)
        fputs("</ol>\n", out);
    if (n > REPORT_MAX_NODES)
        fprintf(out, "<p class=\"note\">%zu more nodes are not shown.</p>\n", n - REPORT_MAX_NODES);
    fputs("</details>\n", out);
}

/* The first call of a benchmark case is what people want to see; else the first. */
static size_t opened(const json_t *calls, const json_t *cases)
{
    for (size_t i = 0; i < json_array_size(calls) && i < REPORT_MAX_CALLS; i++) {
        const json_t *one = find_case(cases, view_at(json_array_get(calls, i), "dims"));
        const char *kind = view_string(one, "kind");
        if (kind && !strcmp(kind, "benchmark"))
            return i;
    }
    return 0;
}

void section_graph(FILE *out, const json_t *result, const json_t *recording)
{
    const json_t *calls = view_at(recording, "calls"), *cases = view_at(result, "cases");
    size_t n = json_array_size(calls), open = opened(calls, cases);
    if (!n)
        return;
    const char *device = view_string(recording, "device");
    bool in_items = device && !strcmp(device, "opencl");
    fputs("<section>\n<h2>Recorded graph</h2>\n<p class=\"note\">What one call of the candidate "
          "puts on the device, and what was replayed.</p>\n",
          out);
    for (size_t i = 0; i < n && i < REPORT_MAX_CALLS; i++)
        write_call(out, json_array_get(calls, i), cases, i == open, in_items);
    if (n > REPORT_MAX_CALLS)
        fprintf(out, "<p class=\"note\">%zu more calls are not shown.</p>\n", n - REPORT_MAX_CALLS);
    fputs("</section>\n", out);
}
