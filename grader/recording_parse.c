/*
 * Parsing and validating a recording.  Everything here is hostile input: sizes are compared before memory is taken,
 * indices before they are used, and unknown keys are refused so that nothing rides along unseen.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/fail.h"
#include "recording.h"
#include "recording_fields.h"
#include "recording_format.h"

struct parser {
    struct recording *recording;
    struct fields fields;
    bool is_part; /* blobs may be named only */
};

#define bad(p, ...) fields_bad(&(p)->fields, __VA_ARGS__)

/* null for an address, else an index below the number of parameters and workspace buffers. */
static int buffer(struct parser *p, json_t *json, const struct recording_call *call,
                  bool may_be_address, size_t *ret)
{
    if (may_be_address && json_is_null(json_object_get(json, "buffer"))) {
        *ret = SIZE_MAX;
        return 0;
    }
    return fields_index_of(&p->fields, json, "buffer", p->recording->n_params + call->n_buffers,
                           ret);
}

static int place(struct parser *p, json_t *json, const char *key, const struct recording_call *call,
                 size_t *ret_buffer, uint64_t *ret_offset)
{
    json_t *value = json_object_get(json, key);
    bool addresses = !strcmp(p->recording->device, "cuda") || !strcmp(p->recording->device, "hip");
    if (fields_object(&p->fields, value, 2) || buffer(p, value, call, addresses, ret_buffer))
        return -1;
    return fields_integer(&p->fields, value, "offset", INT64_MAX, ret_offset);
}

static int count_bytes(struct parser *p, const struct recording_arg *arg, size_t room,
                       size_t *total)
{
    *total += room;
    return *total > RECORDING_MAX_ARG_BYTES || arg->offset + room > RECORDING_MAX_ARG_BYTES
               ? bad(p, "a kernel's arguments have more than %d bytes", RECORDING_MAX_ARG_BYTES)
               : 0;
}

static int parse_variable(struct parser *p, json_t *json, struct recording_node *node,
                          size_t *total)
{
    struct recording_arg *arg = recording_add_arg(node, ARG_VARIABLE);
    const char *name;
    if (!arg)
        return bad(p, "too many arguments");
    arg->size = sizeof(uint64_t);
    if (fields_object(&p->fields, json, 5) ||
        fields_u32(&p->fields, json, "at", RECORDING_MAX_ARG_BYTES, &arg->offset) ||
        fields_index_of(&p->fields, json, "image", p->recording->n_images, &arg->image) ||
        fields_string(&p->fields, json, "name", RECORDING_MAX_NAME, &name) ||
        fields_integer(&p->fields, json, "offset", INT64_MAX, &arg->at) ||
        count_bytes(p, arg, sizeof(uint64_t), total))
        return -1;
    arg->name = strdup(name);
    return arg->name ? 0 : bad(p, "no memory");
}

static int parse_arg(struct parser *p, json_t *json, const struct recording_call *call,
                     struct recording_node *node, size_t *total)
{
    const char *kind;
    if (!json_is_object(json) || fields_string(&p->fields, json, "kind", 16, &kind))
        return bad(p, "an argument must be an object with a kind");
    if (!strcmp(kind, "buffer")) {
        struct recording_arg *arg = recording_add_arg(node, ARG_BUFFER);
        if (!arg)
            return bad(p, "too many arguments");
        return fields_object(&p->fields, json, 2) || buffer(p, json, call, false, &arg->buffer) ? -1
                                                                                                : 0;
    }
    if (!strcmp(kind, "local")) {
        struct recording_arg *arg = recording_add_arg(node, ARG_LOCAL);
        if (!arg)
            return bad(p, "too many arguments");
        return fields_object(&p->fields, json, 2) ||
                       fields_u32(&p->fields, json, "bytes", 1u << 30, &arg->size)
                   ? -1
                   : 0;
    }
    if (!strcmp(kind, "variable"))
        return parse_variable(p, json, node, total);
    if (strcmp(kind, "bytes"))
        return bad(p, "unknown argument kind");
    struct recording_arg *arg = recording_add_arg(node, ARG_BYTES);
    const char *text;
    if (!arg)
        return bad(p, "too many arguments");
    if (fields_object(&p->fields, json, 3) ||
        fields_u32(&p->fields, json, "at", RECORDING_MAX_ARG_BYTES, &arg->offset) ||
        fields_string(&p->fields, json, "hex", 2 * RECORDING_MAX_ARG_BYTES, &text))
        return -1;
    size_t room = strlen(text) / 2;
    if (count_bytes(p, arg, room, total))
        return -1;
    arg->bytes = calloc(1, room + 1);
    if (!arg->bytes)
        return bad(p, "no memory");
    return fields_hex(&p->fields, json, "hex", RECORDING_MAX_ARG_BYTES, arg->bytes, &arg->size);
}

static int parse_attribute(struct parser *p, json_t *json, struct recording_node *node)
{
    const char *name;
    json_t *values;
    if (fields_object(&p->fields, json, 2) || fields_string(&p->fields, json, "name", 64, &name) ||
        fields_array(&p->fields, json, "values", 4, &values))
        return -1;
    struct recording_attribute *attribute = recording_add_attribute(node, name);
    if (!attribute)
        return bad(p, "too many attributes");
    attribute->n = json_array_size(values);
    for (size_t i = 0; i < attribute->n; i++) {
        if (!json_is_integer(json_array_get(values, i)))
            return bad(p, "attribute values must be integers");
        attribute->values[i] = json_integer_value(json_array_get(values, i));
    }
    return 0;
}

static int parse_kernel(struct parser *p, json_t *json, const struct recording_call *call,
                        struct recording_node *node)
{
    const char *name;
    json_t *args, *attributes;
    if (fields_object(&p->fields, json, 10) ||
        fields_index_of(&p->fields, json, "image", p->recording->n_images, &node->image) ||
        fields_string(&p->fields, json, "name", RECORDING_MAX_NAME, &name) ||
        fields_u32(&p->fields, json, "work_dim", 3, &node->work_dim) ||
        fields_three(&p->fields, json, "grid", UINT32_MAX, node->grid) ||
        fields_three(&p->fields, json, "block", UINT32_MAX, node->block) ||
        fields_three(&p->fields, json, "offset", UINT32_MAX, node->offset) ||
        fields_u32(&p->fields, json, "shared_bytes", 1u << 30, &node->shared_bytes) ||
        fields_array(&p->fields, json, "args", RECORDING_MAX_ARGS, &args) ||
        fields_array(&p->fields, json, "attributes", RECORDING_MAX_ATTRIBUTES, &attributes))
        return -1;
    if (!name[0] || node->work_dim == 0)
        return bad(p, "a kernel needs a name and one to three dimensions");
    for (size_t i = 0; i < node->work_dim; i++)
        if (node->grid[i] == 0)
            return bad(p, "a kernel's grid must not be empty");
    node->name = strdup(name);
    if (!node->name)
        return bad(p, "no memory");
    size_t total = 0;
    for (size_t i = 0; i < json_array_size(args); i++)
        if (parse_arg(p, json_array_get(args, i), call, node, &total))
            return -1;
    for (size_t i = 0; i < json_array_size(attributes); i++)
        if (parse_attribute(p, json_array_get(attributes, i), node))
            return -1;
    return 0;
}

static int parse_node(struct parser *p, json_t *json, struct recording_call *call)
{
    const char *kind;
    if (!json_is_object(json) || fields_string(&p->fields, json, "kind", 16, &kind))
        return bad(p, "a node must be an object with a kind");
    enum node_kind k = !strcmp(kind, "kernel") ? NODE_KERNEL
                       : !strcmp(kind, "copy") ? NODE_COPY
                       : !strcmp(kind, "fill") ? NODE_FILL
                                               : NODE_EMPTY;
    if (k == NODE_EMPTY && strcmp(kind, "empty"))
        return bad(p, "unknown kind of node");
    struct recording_node *node = recording_add_node(call, k);
    if (!node)
        return bad(p, "no memory");
    switch (k) {
    case NODE_KERNEL:
        return parse_kernel(p, json, call, node);
    case NODE_COPY:
        if (fields_object(&p->fields, json, 7) ||
            place(p, json, "from", call, &node->from_buffer, &node->from_offset) ||
            place(p, json, "to", call, &node->to_buffer, &node->to_offset) ||
            fields_integer(&p->fields, json, "bytes", INT64_MAX, &node->bytes) ||
            fields_integer(&p->fields, json, "rows", INT32_MAX, &node->rows) ||
            fields_integer(&p->fields, json, "from_pitch", INT64_MAX, &node->from_pitch) ||
            fields_integer(&p->fields, json, "to_pitch", INT64_MAX, &node->to_pitch))
            return -1;
        return 0;
    case NODE_FILL:
        if (fields_object(&p->fields, json, 6) ||
            place(p, json, "to", call, &node->to_buffer, &node->to_offset) ||
            fields_integer(&p->fields, json, "bytes", INT64_MAX, &node->bytes) ||
            fields_integer(&p->fields, json, "rows", INT32_MAX, &node->rows) ||
            fields_integer(&p->fields, json, "to_pitch", INT64_MAX, &node->to_pitch) ||
            fields_hex(&p->fields, json, "pattern", sizeof node->pattern, node->pattern,
                       &node->pattern_bytes))
            return -1;
        if (node->pattern_bytes == 0)
            return bad(p, "a fill needs a pattern");
        return 0;
    case NODE_EMPTY:
        break;
    }
    return fields_object(&p->fields, json, 1);
}

/* Kahn's algorithm: everything can be put in an order, or there is a cycle. */
static int check_acyclic(struct parser *p, const struct recording_call *call)
{
    cleanup_free uint32_t *waiting = calloc(call->n_nodes + 1, sizeof *waiting);
    cleanup_free uint32_t *first = calloc(call->n_nodes + 2, sizeof *first);
    cleanup_free uint32_t *targets = calloc(call->n_edges + 1, sizeof *targets);
    cleanup_free uint32_t *ready = calloc(call->n_nodes + 1, sizeof *ready);
    if (!waiting || !first || !targets || !ready)
        return bad(p, "no memory");
    for (size_t i = 0; i < call->n_edges; i++) {
        waiting[call->edges[i].to]++;
        first[call->edges[i].from + 2]++;
    }
    for (size_t i = 2; i < call->n_nodes + 2; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; i < call->n_edges; i++)
        targets[first[call->edges[i].from + 1]++] = call->edges[i].to;
    size_t n = 0;
    for (size_t i = 0; i < call->n_nodes; i++)
        if (!waiting[i])
            ready[n++] = (uint32_t)i;
    for (size_t done = 0; done < n; done++)
        for (uint32_t t = first[ready[done]]; t < first[ready[done] + 1]; t++)
            if (--waiting[targets[t]] == 0)
                ready[n++] = targets[t];
    return n == call->n_nodes ? 0 : bad(p, "the edges form a cycle");
}

static int parse_edge(struct parser *p, json_t *json, struct recording_call *call)
{
    uint64_t v[5];
    if (!json_is_array(json) || json_array_size(json) != 5)
        return bad(p, "an edge must be a list of five integers");
    for (size_t i = 0; i < 5; i++)
        if (fields_integer(&p->fields, json_array_get(json, i), NULL,
                           i < 2 ? UINT32_MAX : UINT8_MAX, &v[i]))
            return -1;
    if (v[0] >= call->n_nodes || v[1] >= call->n_nodes || v[0] == v[1])
        return bad(p, "an edge names a node that does not exist");
    if (recording_add_edge(call, (uint32_t)v[0], (uint32_t)v[1]))
        return bad(p, "too many edges");
    struct recording_edge *edge = &call->edges[call->n_edges - 1];
    edge->from_port = (uint8_t)v[2];
    edge->to_port = (uint8_t)v[3];
    edge->type = (uint8_t)v[4];
    return 0;
}

static int parse_buffer(struct parser *p, json_t *json, struct recording_call *call)
{
    uint64_t bytes;
    if (fields_object(&p->fields, json, 3) ||
        fields_integer(&p->fields, json, "bytes", TASK_MAX_CASE_BYTES, &bytes))
        return -1;
    struct recording_buffer *b = recording_add_buffer(call, bytes);
    if (!b)
        return bad(p, "too many buffers");
    if (fields_integer(&p->fields, json, "address", INT64_MAX, &b->address))
        return -1;
    b->has_contents = !json_is_null(json_object_get(json, "contents"));
    if (!b->has_contents)
        return 0;
    if (fields_index_of(&p->fields, json, "contents", p->recording->n_blobs, &b->blob))
        return -1;
    return p->recording->blobs[b->blob].size == bytes
               ? 0
               : bad(p, "a buffer's contents have another size");
}

static int parse_global(struct parser *p, json_t *json, struct recording_call *call)
{
    size_t image, blob;
    const char *name;
    if (fields_object(&p->fields, json, 3) ||
        fields_index_of(&p->fields, json, "image", p->recording->n_images, &image) ||
        fields_string(&p->fields, json, "name", RECORDING_MAX_NAME, &name) ||
        fields_index_of(&p->fields, json, "value", p->recording->n_blobs, &blob))
        return -1;
    return recording_add_global(call, image, name, blob) ? 0 : bad(p, "no memory");
}

static int parse_call(struct parser *p, json_t *json)
{
    json_t *dims, *buffers, *globals, *nodes, *edges;
    int64_t values[TASK_MAX_PARAMS] = {0};
    struct recording *r = p->recording;
    if (fields_object(&p->fields, json, 5) ||
        fields_array(&p->fields, json, "dims", TASK_MAX_PARAMS, &dims) ||
        fields_array(&p->fields, json, "buffers", RECORDING_MAX_BUFFERS, &buffers) ||
        fields_array(&p->fields, json, "globals", RECORDING_MAX_GLOBALS, &globals) ||
        fields_array(&p->fields, json, "nodes", RECORDING_MAX_NODES, &nodes) ||
        fields_array(&p->fields, json, "edges", RECORDING_MAX_EDGES, &edges))
        return -1;
    if (json_array_size(dims) != r->n_dims)
        return bad(p, "%zu dims where the task has %zu", json_array_size(dims), r->n_dims);
    for (size_t i = 0; i < r->n_dims; i++) {
        uint64_t v;
        if (fields_integer(&p->fields, json_array_get(dims, i), NULL, INT64_MAX, &v))
            return -1;
        values[i] = (int64_t)v;
    }
    if (recording_find_call(r, values))
        return bad(p, "two calls have the same dims");
    struct recording_call *call = recording_add_call(r, values);
    if (!call)
        return bad(p, "too many calls");
    const char *outer = p->fields.where;
    char where[96];
    p->fields.where = where;
    struct {
        json_t *list;
        const char *name;
        int (*parse)(struct parser *, json_t *, struct recording_call *);
    } parts[] = {{buffers, "buffers", parse_buffer},
                 {globals, "globals", parse_global},
                 {nodes, "nodes", parse_node},
                 {edges, "edges", parse_edge}};
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
        for (size_t i = 0; i < json_array_size(parts[k].list); i++) {
            snprintf(where, sizeof where, "%.48s.%s[%zu]", outer, parts[k].name, i);
            if (parts[k].parse(p, json_array_get(parts[k].list, i), call))
                return -1;
        }
    p->fields.where = outer;
    return check_acyclic(p, call);
}

static int parse_named_blob(struct parser *p, json_t *json, const char *hash, size_t *ret_index)
{
    uint64_t bytes;
    if (fields_integer(&p->fields, json, RECORDING_KNOWN, RECORDING_MAX_BYTES, &bytes))
        return -1;
    if (strlen(hash) != HASH_HEX - 1)
        return bad(p, "a hash of %zu digits", strlen(hash));
    *ret_index = recording_add_named_blob(p->recording, hash, (size_t)bytes);
    return 0;
}

static int parse_blobs(struct parser *p, json_t *list, const uint8_t *data, size_t size)
{
    struct recording *r = p->recording;
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *json = json_array_get(list, i);
        const char *hash;
        uint64_t bytes = 0;
        size_t index;
        bool is_named = p->is_part && json_object_get(json, RECORDING_KNOWN);
        if (fields_object(&p->fields, json, 2) ||
            fields_string(&p->fields, json, "sha256", HASH_HEX - 1, &hash) ||
            (is_named ? parse_named_blob(p, json, hash, &index)
                      : fields_integer(&p->fields, json, "bytes", size, &bytes)))
            return -1;
        if (!is_named)
            index = recording_add_blob(r, data, (size_t)bytes);
        if (index == SIZE_MAX)
            return bad(p, "no memory");
        if (index != i)
            return bad(p, "the same blob twice");
        if (strcmp(r->blob_hashes[i], hash))
            return bad(p, "blob %zu does not match its hash", i);
        data += bytes;
        size -= (size_t)bytes;
    }
    return size == 0 ? 0 : bad(p, "%zu bytes follow the last blob", size);
}

static int parse_manifest(struct parser *p, json_t *root, const uint8_t *blob_data,
                          size_t blob_size)
{
    struct recording *r = p->recording;
    json_t *blobs, *images, *calls;
    const char *device, *task;
    uint64_t format, n_params, n_dims;
    if (fields_object(&p->fields, root, 8) ||
        fields_integer(&p->fields, root, "format", UINT32_MAX, &format))
        return -1;
    if (format != RECORDING_FORMAT)
        return bad(p, "format %llu is not known; this version reads %d", (unsigned long long)format,
                   RECORDING_FORMAT);
    if (fields_string(&p->fields, root, "device", 64, &device) ||
        fields_string(&p->fields, root, "task", 64, &task) ||
        fields_integer(&p->fields, root, "n_params", TASK_MAX_PARAMS, &n_params) ||
        fields_integer(&p->fields, root, "n_dims", n_params, &n_dims) ||
        fields_array(&p->fields, root, "blobs", RECORDING_MAX_BLOBS, &blobs) ||
        fields_array(&p->fields, root, "images", RECORDING_MAX_IMAGES, &images) ||
        fields_array(&p->fields, root, "calls", RECORDING_MAX_CALLS, &calls))
        return -1;
    r->device = strdup(device);
    r->task = strdup(task);
    r->n_params = (size_t)n_params;
    r->n_dims = (size_t)n_dims;
    if (!r->device || !r->task)
        return bad(p, "no memory");
    p->fields.where = "blobs";
    if (parse_blobs(p, blobs, blob_data, blob_size))
        return -1;
    p->fields.where = "images";
    for (size_t i = 0; i < json_array_size(images); i++) {
        json_t *json = json_array_get(images, i);
        const char *kind, *options;
        size_t blob;
        if (fields_object(&p->fields, json, 3) ||
            fields_string(&p->fields, json, "kind", 16, &kind) ||
            fields_string(&p->fields, json, "options", RECORDING_MAX_NAME, &options) ||
            fields_index_of(&p->fields, json, "blob", r->n_blobs, &blob))
            return -1;
        if (strcmp(kind, "opencl-c") && strcmp(kind, "cubin") && strcmp(kind, "amdgpu"))
            return bad(p, "unknown kind of image");
        if (recording_add_image_of(r, kind, options, blob) != i)
            return bad(p, "the same image twice");
    }
    char where[48];
    for (size_t i = 0; i < json_array_size(calls); i++) {
        snprintf(where, sizeof where, "calls[%zu]", i);
        p->fields.where = where;
        if (parse_call(p, json_array_get(calls, i)))
            return -1;
    }
    return 0;
}

/* How many values the JSON text has at most: each takes hundreds of bytes once it is parsed, and as few as two before. */
static size_t count_values(const char *text, size_t length)
{
    size_t n = 0;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted)
            n += text[i] == '{' || text[i] == '[' || text[i] == ',';
    }
    return n;
}

static int parse(const void *data, size_t size, bool is_part, struct recording **ret,
                 kgrade_error *err)
{
    cleanup_recording struct recording *r = calloc(1, sizeof *r);
    struct parser p = {r, {"the header", err}, is_part};
    const uint8_t *bytes = data;
    if (!r)
        return bad(&p, "no memory");
    if (size < RECORDING_HEADER_BYTES || size > RECORDING_MAX_BYTES ||
        memcmp(bytes, RECORDING_MAGIC, 8))
        return bad(&p, "it does not begin as a recording does");
    uint64_t length = 0;
    for (int i = 0; i < 8; i++)
        length |= (uint64_t)bytes[8 + i] << (8 * i);
    if (length > RECORDING_MAX_MANIFEST || length > size - RECORDING_HEADER_BYTES)
        return bad(&p, "the manifest is longer than the file");
    p.fields.where = "the manifest";
    const char *manifest = (const char *)bytes + RECORDING_HEADER_BYTES;
    if (memchr(manifest, 0, (size_t)length)) /* which jansson overlooks behind a number */
        return bad(&p, "it holds a NUL byte");
    if (count_values(manifest, (size_t)length) > RECORDING_MAX_VALUES)
        return bad(&p, "it has more than %d values", RECORDING_MAX_VALUES);
    json_error_t at;
    json_t *root = json_loadb(manifest, (size_t)length, JSON_REJECT_DUPLICATES, &at);
    int result = root ? parse_manifest(&p, root, bytes + RECORDING_HEADER_BYTES + length,
                                       size - RECORDING_HEADER_BYTES - (size_t)length)
                      : bad(&p, "%s", at.text);
    json_decref(root);
    if (result)
        return -1;
    *ret = steal_pointer(&r);
    return 0;
}

int recording_parse(const void *data, size_t size, struct recording **ret, kgrade_error *err)
{
    return parse(data, size, false, ret, err);
}

int recording_parse_part(const void *data, size_t size, struct recording **ret, kgrade_error *err)
{
    return parse(data, size, true, ret, err);
}
