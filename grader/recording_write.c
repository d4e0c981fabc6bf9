/* A recording as JSON and as a file. */
#include <stdlib.h>
#include <string.h>

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/fail.h"
#include "recording.h"
#include "recording_format.h"

static json_t *hex_json(const uint8_t *data, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    cleanup_free char *text = malloc(2 * size + 1);
    if (!text)
        return NULL;
    for (size_t i = 0; i < size; i++) {
        text[2 * i] = digits[data[i] >> 4];
        text[2 * i + 1] = digits[data[i] & 15];
    }
    return json_stringn(text, 2 * size);
}

static json_t *u64s_json(const uint64_t *values, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, json_integer((json_int_t)values[i]));
    return array;
}

static json_t *i64s_json(const int64_t *values, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, json_integer(values[i]));
    return array;
}

static json_t *index_json(size_t index)
{
    return index == SIZE_MAX ? json_null() : json_integer((json_int_t)index);
}

static json_t *arg_json(const struct recording_arg *arg)
{
    switch (arg->kind) {
    case ARG_BUFFER:
        return json_pack("{s:s, s:o}", "kind", "buffer", "buffer", index_json(arg->buffer));
    case ARG_LOCAL:
        return json_pack("{s:s, s:I}", "kind", "local", "bytes", (json_int_t)arg->size);
    case ARG_VARIABLE:
        return json_pack("{s:s, s:I, s:I, s:s, s:I}", "kind", "variable", "at",
                         (json_int_t)arg->offset, "image", (json_int_t)arg->image, "name",
                         arg->name, "offset", (json_int_t)arg->at);
    case ARG_BYTES:
        break;
    }
    return json_pack("{s:s, s:I, s:o}", "kind", "bytes", "at", (json_int_t)arg->offset, "hex",
                     hex_json(arg->bytes, arg->size));
}

static json_t *kernel_json(const struct recording_node *node)
{
    json_t *args = json_array(), *attributes = json_array();
    for (size_t i = 0; i < node->n_args; i++)
        json_array_append_new(args, arg_json(&node->args[i]));
    for (size_t i = 0; i < node->n_attributes; i++)
        json_array_append_new(
            attributes, json_pack("{s:s, s:o}", "name", node->attributes[i].name, "values",
                                  i64s_json(node->attributes[i].values, node->attributes[i].n)));
    return json_pack("{s:s, s:I, s:s, s:I, s:o, s:o, s:o, s:I, s:o, s:o}", "kind", "kernel",
                     "image", (json_int_t)node->image, "name", node->name, "work_dim",
                     (json_int_t)node->work_dim, "grid", u64s_json(node->grid, 3), "block",
                     u64s_json(node->block, 3), "offset", u64s_json(node->offset, 3),
                     "shared_bytes", (json_int_t)node->shared_bytes, "args", args, "attributes",
                     attributes);
}

static json_t *place_json(size_t buffer, uint64_t offset)
{
    return json_pack("{s:o, s:I}", "buffer", index_json(buffer), "offset", (json_int_t)offset);
}

static json_t *node_json(const struct recording_node *node)
{
    switch (node->kind) {
    case NODE_KERNEL:
        return kernel_json(node);
    case NODE_COPY:
        return json_pack("{s:s, s:o, s:o, s:I, s:I, s:I, s:I}", "kind", "copy", "from",
                         place_json(node->from_buffer, node->from_offset), "to",
                         place_json(node->to_buffer, node->to_offset), "bytes",
                         (json_int_t)node->bytes, "rows", (json_int_t)node->rows, "from_pitch",
                         (json_int_t)node->from_pitch, "to_pitch", (json_int_t)node->to_pitch);
    case NODE_FILL:
        return json_pack("{s:s, s:o, s:I, s:I, s:I, s:o}", "kind", "fill", "to",
                         place_json(node->to_buffer, node->to_offset), "bytes",
                         (json_int_t)node->bytes, "rows", (json_int_t)node->rows, "to_pitch",
                         (json_int_t)node->to_pitch, "pattern",
                         hex_json(node->pattern, node->pattern_bytes));
    case NODE_EMPTY:
        break;
    }
    return json_pack("{s:s}", "kind", "empty");
}

static json_t *call_json(const struct recording *r, const struct recording_call *call)
{
    json_t *buffers = json_array(), *globals = json_array(), *nodes = json_array(),
           *edges = json_array();
    for (size_t i = 0; i < call->n_buffers; i++) {
        const struct recording_buffer *b = &call->buffers[i];
        json_array_append_new(buffers,
                              json_pack("{s:I, s:I, s:o}", "bytes", (json_int_t)b->bytes, "address",
                                        (json_int_t)b->address, "contents",
                                        b->has_contents ? index_json(b->blob) : json_null()));
    }
    for (size_t i = 0; i < call->n_globals; i++) {
        const struct recording_global *g = &call->globals[i];
        json_array_append_new(globals, json_pack("{s:I, s:s, s:I}", "image", (json_int_t)g->image,
                                                 "name", g->name, "value", (json_int_t)g->blob));
    }
    for (size_t i = 0; i < call->n_nodes; i++)
        json_array_append_new(nodes, node_json(&call->nodes[i]));
    for (size_t i = 0; i < call->n_edges; i++) {
        const struct recording_edge *e = &call->edges[i];
        json_array_append_new(edges, json_pack("[i,i,i,i,i]", (int)e->from, (int)e->to,
                                               e->from_port, e->to_port, e->type));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "dims", i64s_json(call->dims, r->n_dims),
                     "buffers", buffers, "globals", globals, "nodes", nodes, "edges", edges);
}

json_t *recording_to_json(const struct recording *r)
{
    json_t *blobs = json_array(), *images = json_array(), *calls = json_array();
    for (size_t i = 0; i < r->n_blobs; i++)
        json_array_append_new(blobs, json_pack("{s:s, s:I}", "sha256", r->blob_hashes[i],
                                               r->blobs[i].data ? "bytes" : RECORDING_KNOWN,
                                               (json_int_t)r->blobs[i].size));
    for (size_t i = 0; i < r->n_images; i++)
        json_array_append_new(images, json_pack("{s:s, s:s, s:I}", "kind", r->images[i].kind,
                                                "options", r->images[i].options, "blob",
                                                (json_int_t)r->images[i].blob));
    for (size_t i = 0; i < r->n_calls; i++)
        json_array_append_new(calls, call_json(r, &r->calls[i]));
    return json_pack("{s:i, s:s, s:s, s:I, s:I, s:o, s:o, s:o}", "format", RECORDING_FORMAT,
                     "device", r->device, "task", r->task, "n_params", (json_int_t)r->n_params,
                     "n_dims", (json_int_t)r->n_dims, "blobs", blobs, "images", images, "calls",
                     calls);
}

int recording_write(const struct recording *r, struct bytes *ret, kgrade_error *err)
{
    json_t *json = recording_to_json(r);
    cleanup_free char *manifest = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    if (!manifest)
        return fail(err, "recording_invalid", "Kernel and symbol names must be UTF-8.",
                    "The recording could not be written as JSON.");
    uint64_t length = strlen(manifest), total = RECORDING_HEADER_BYTES + length;
    for (size_t i = 0; i < r->n_blobs; i++)
        total += r->blobs[i].data ? r->blobs[i].size : 0;
    if (length > RECORDING_MAX_MANIFEST || total > RECORDING_MAX_BYTES)
        return fail(err, "recording_too_large",
                    "Use fewer nodes and less device memory whose contents must be carried.",
                    "The recording has %llu bytes; at most %llu are allowed.",
                    (unsigned long long)total, (unsigned long long)RECORDING_MAX_BYTES);
    uint8_t *data = malloc(total);
    if (!data)
        return fail(err, "out_of_memory", NULL, "No memory for a recording of %llu bytes.",
                    (unsigned long long)total);
    memcpy(data, RECORDING_MAGIC, 8);
    for (int i = 0; i < 8; i++)
        data[8 + i] = (uint8_t)(length >> (8 * i));
    memcpy(data + RECORDING_HEADER_BYTES, manifest, length);
    uint8_t *at = data + RECORDING_HEADER_BYTES + length;
    for (size_t i = 0; i < r->n_blobs; i++) {
        if (!r->blobs[i].data)
            continue;
        memcpy(at, r->blobs[i].data, r->blobs[i].size);
        at += r->blobs[i].size;
    }
    *ret = (struct bytes){data, total};
    return 0;
}
