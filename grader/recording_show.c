/* A recording for people: as JSON, and as a graph. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/fail.h"
#include "device.h"
#include "kgrade.h"
#include "recording.h"

/* Names come from the candidate: nothing in them may end the quoted string. */
static void dot_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc((unsigned char)*text < 0x20 ? ' ' : *text, out);
    }
}

static void dot_node(FILE *out, size_t call, size_t index, const struct recording_node *n)
{
    fprintf(out, "    c%zu_n%zu [label=\"", call, index);
    switch (n->kind) {
    case NODE_KERNEL:
        dot_text(out, n->name);
        fprintf(out,
                "\\ngrid %" PRIu64 " x %" PRIu64 " x %" PRIu64 "\\nblock %" PRIu64 " x %" PRIu64
                " x %" PRIu64,
                n->grid[0], n->grid[1], n->grid[2], n->block[0], n->block[1], n->block[2]);
        break;
    case NODE_COPY:
        fprintf(out, "copy %" PRIu64 " bytes", n->bytes * n->rows);
        break;
    case NODE_FILL:
        fprintf(out, "fill %" PRIu64 " bytes", n->bytes * n->rows);
        break;
    case NODE_EMPTY:
        fputs("empty", out);
        break;
    }
    fputs("\"];\n", out);
}

static void dot_call(FILE *out, const struct recording *r, size_t index)
{
    const struct recording_call *call = &r->calls[index];
    fprintf(out, "  subgraph cluster_%zu {\n    label=\"dims", index);
    for (size_t i = 0; i < r->n_dims; i++)
        fprintf(out, " %" PRId64, call->dims[i]);
    fputs("\";\n", out);
    for (size_t i = 0; i < call->n_nodes; i++)
        dot_node(out, index, i, &call->nodes[i]);
    for (size_t i = 0; i < call->n_edges; i++)
        fprintf(out, "    c%zu_n%" PRIu32 " -> c%zu_n%" PRIu32 ";\n", index, call->edges[i].from,
                index, call->edges[i].to);
    fputs("  }\n", out);
}

static char *to_dot(const struct recording *r)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs("digraph recording {\n  node [shape=box, fontname=\"monospace\"];\n", out);
    for (size_t i = 0; i < r->n_calls; i++)
        dot_call(out, r, i);
    fputs("}\n", out);
    return fclose(out) ? (free(text), NULL) : text;
}

/* What each kernel takes, where its device can read that from the image. */
static void add_resources(const struct recording *r, json_t *json)
{
    const struct device *device = device_find(r->device);
    if (!device || !device->describe_kernel)
        return;
    const json_t *calls = json_object_get(json, "calls");
    for (size_t i = 0; i < r->n_calls; i++) {
        const json_t *nodes = json_object_get(json_array_get(calls, i), "nodes");
        for (size_t k = 0; k < r->calls[i].n_nodes; k++) {
            const struct recording_node *n = &r->calls[i].nodes[k];
            if (n->kind != NODE_KERNEL)
                continue;
            const struct bytes *image = &r->blobs[r->images[n->image].blob];
            json_t *resources = device->describe_kernel(image->data, image->size, n->name);
            if (resources)
                json_object_set_new(json_array_get(nodes, k), "resources", resources);
        }
    }
}

int kgrade_recording_show(const void *data, size_t size, bool dot, char **ret_text,
                          kgrade_error *err)
{
    cleanup_recording struct recording *recording = NULL;
    if (recording_parse(data, size, &recording, err))
        return -1;
    if (dot) {
        *ret_text = to_dot(recording);
    } else {
        json_t *json = recording_to_json(recording);
        add_resources(recording, json);
        *ret_text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
        json_decref(json);
    }
    return *ret_text ? 0 : fail(err, "out_of_memory", NULL, "No memory to show the recording.");
}
