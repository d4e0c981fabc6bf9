#define _GNU_SOURCE
#include "recording.h"

#include <stdlib.h>
#include <string.h>

#include "../sandbox/base/fail.h"
#include "recording_format.h"

struct recording *recording_new(const char *device, const struct task *task)
{
    struct recording *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->device = strdup(device);
    r->task = strdup(task->name);
    r->n_params = task->n_params;
    r->n_dims = task->n_dims;
    if (!r->device || !r->task) {
        recording_free(r);
        return NULL;
    }
    return r;
}

static void free_node(struct recording_node *node)
{
    for (size_t i = 0; i < node->n_args; i++) {
        free(node->args[i].bytes);
        free(node->args[i].name);
    }
    for (size_t i = 0; i < node->n_attributes; i++)
        free(node->attributes[i].name);
    free(node->args);
    free(node->attributes);
    free(node->name);
}

static void free_call(struct recording_call *call)
{
    for (size_t i = 0; i < call->n_nodes; i++)
        free_node(&call->nodes[i]);
    for (size_t i = 0; i < call->n_globals; i++)
        free(call->globals[i].name);
    free(call->nodes);
    free(call->edges);
    free(call->buffers);
    free(call->globals);
}

void recording_free(struct recording *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n_calls; i++)
        free_call(&r->calls[i]);
    for (size_t i = 0; i < r->n_images; i++) {
        free(r->images[i].kind);
        free(r->images[i].options);
    }
    for (size_t i = 0; i < r->n_blobs; i++)
        free(r->blobs[i].data);
    free(r->calls);
    free(r->images);
    free(r->blobs);
    free(r->blob_hashes);
    free(r->device);
    free(r->task);
    free(r);
}

/* Makes room for one more element: array is a pointer to the array's pointer.  Grows at powers of two. */
static void *grow(void *array, size_t n, size_t element)
{
    if (n & (n - 1))
        return array;
    size_t room = n ? 2 * n : 1;
    return realloc(array, room * element);
}

static size_t find_blob(const struct recording *r, const char *hash)
{
    for (size_t i = 0; i < r->n_blobs; i++)
        if (!strcmp(r->blob_hashes[i], hash))
            return i;
    return SIZE_MAX;
}

static bool is_known(const struct recording_known *known, const char *hash)
{
    for (size_t i = 0; known && i < known->n; i++)
        if (!strcmp(known->hashes[i], hash))
            return true;
    return false;
}

/* Takes the data over unless there is no room (SIZE_MAX). */
static size_t append_blob(struct recording *r, uint8_t *data, size_t size, const char *hash)
{
    if (r->n_blobs == RECORDING_MAX_BLOBS)
        return SIZE_MAX;
    struct bytes *blobs = grow(r->blobs, r->n_blobs, sizeof *blobs);
    if (!blobs)
        return SIZE_MAX;
    r->blobs = blobs;
    char(*hashes)[HASH_HEX] = grow(r->blob_hashes, r->n_blobs, sizeof *hashes);
    if (!hashes)
        return SIZE_MAX;
    r->blob_hashes = hashes;
    r->blobs[r->n_blobs] = (struct bytes){data, size};
    memcpy(r->blob_hashes[r->n_blobs], hash, HASH_HEX);
    return r->n_blobs++;
}

static size_t add_hashed_blob(struct recording *r, const char *hash, const void *data, size_t size)
{
    size_t known = find_blob(r, hash);
    if (known != SIZE_MAX)
        return known;
    if (is_known(r->known, hash))
        return append_blob(r, NULL, size, hash);
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return SIZE_MAX;
    if (size)
        memcpy(copy, data, size);
    size_t added = append_blob(r, copy, size, hash);
    if (added == SIZE_MAX)
        free(copy);
    return added;
}

size_t recording_add_named_blob(struct recording *r, const char hash[HASH_HEX], size_t size)
{
    size_t there = find_blob(r, hash);
    return there != SIZE_MAX ? there : append_blob(r, NULL, size, hash);
}

size_t recording_add_blob(struct recording *r, const void *data, size_t size)
{
    char hash[HASH_HEX];
    hash_hex(data, size, hash);
    return add_hashed_blob(r, hash, data, size);
}

/* Where a part's blob i is in r; SIZE_MAX: nowhere, or it is another one. */
static size_t find_named(const struct recording *r, const struct recording *part, size_t i)
{
    size_t at = find_blob(r, part->blob_hashes[i]);
    return at != SIZE_MAX && r->blobs[at].data && r->blobs[at].size == part->blobs[i].size
               ? at
               : SIZE_MAX;
}

static bool has_all(const struct recording *r, const struct recording *part)
{
    for (size_t i = 0; i < part->n_blobs; i++)
        if (!part->blobs[i].data && find_named(r, part, i) == SIZE_MAX)
            return false;
    return true;
}

int recording_complete(struct recording *part, const struct recording *from, kgrade_error *err)
{
    for (size_t i = 0; i < part->n_blobs; i++) {
        size_t at = part->blobs[i].data ? SIZE_MAX : find_named(from, part, i);
        if (at == SIZE_MAX)
            continue;
        part->blobs[i].data = malloc(from->blobs[at].size + 1);
        if (!part->blobs[i].data)
            return fail(err, "out_of_memory", NULL, "No memory for a recording.");
        memcpy(part->blobs[i].data, from->blobs[at].data, from->blobs[at].size);
    }
    return 0;
}

int recording_know(struct recording_known *known, const struct recording *recording)
{
    for (size_t i = 0; i < recording->n_blobs; i++) {
        if (is_known(known, recording->blob_hashes[i]))
            continue;
        char(*hashes)[HASH_HEX] = grow(known->hashes, known->n, sizeof *hashes);
        if (!hashes)
            return -1;
        known->hashes = hashes;
        memcpy(known->hashes[known->n++], recording->blob_hashes[i], HASH_HEX);
    }
    return 0;
}

void recording_forget(struct recording_known *known)
{
    free(known->hashes);
    *known = (struct recording_known){.n = 0};
}

/* Blob i of the other recording, whose hash is known: hundreds of megabytes are neither hashed nor copied again. */
static size_t take_blob(struct recording *r, struct recording *other, size_t i)
{
    size_t known = find_blob(r, other->blob_hashes[i]);
    if (known != SIZE_MAX)
        return known;
    size_t added =
        append_blob(r, other->blobs[i].data, other->blobs[i].size, other->blob_hashes[i]);
    if (added != SIZE_MAX)
        other->blobs[i] = (struct bytes){0};
    return added;
}

size_t recording_add_image_of(struct recording *r, const char *kind, const char *options,
                              size_t blob)
{
    for (size_t i = 0; i < r->n_images; i++) {
        const struct recording_image *image = &r->images[i];
        if (image->blob == blob && !strcmp(image->kind, kind) && !strcmp(image->options, options))
            return i;
    }
    if (r->n_images == RECORDING_MAX_IMAGES)
        return SIZE_MAX;
    struct recording_image *images = grow(r->images, r->n_images, sizeof *images);
    if (!images)
        return SIZE_MAX;
    r->images = images;
    struct recording_image *image = &r->images[r->n_images];
    *image = (struct recording_image){strdup(kind), strdup(options), blob};
    if (!image->kind || !image->options) {
        free(image->kind);
        free(image->options);
        return SIZE_MAX;
    }
    return r->n_images++;
}

size_t recording_add_image(struct recording *r, const char *kind, const char *options,
                           const void *data, size_t size)
{
    size_t blob = recording_add_blob(r, data, size);
    return blob == SIZE_MAX ? SIZE_MAX : recording_add_image_of(r, kind, options, blob);
}

size_t recording_add_hashed_image(struct recording *r, const char *kind, const char *options,
                                  const char hash[HASH_HEX], const void *data, size_t size)
{
    size_t blob = add_hashed_blob(r, hash, data, size);
    return blob == SIZE_MAX ? SIZE_MAX : recording_add_image_of(r, kind, options, blob);
}

struct recording_call *recording_add_call(struct recording *r, const int64_t *dims)
{
    if (r->n_calls == RECORDING_MAX_CALLS)
        return NULL;
    struct recording_call *calls = grow(r->calls, r->n_calls, sizeof *calls);
    if (!calls)
        return NULL;
    r->calls = calls;
    struct recording_call *call = &r->calls[r->n_calls++];
    *call = (struct recording_call){0};
    memcpy(call->dims, dims, r->n_dims * sizeof *dims);
    return call;
}

struct recording_node *recording_add_node(struct recording_call *call, enum node_kind kind)
{
    if (call->n_nodes == RECORDING_MAX_NODES)
        return NULL;
    struct recording_node *nodes = grow(call->nodes, call->n_nodes, sizeof *nodes);
    if (!nodes)
        return NULL;
    call->nodes = nodes;
    struct recording_node *node = &call->nodes[call->n_nodes++];
    *node = (struct recording_node){.kind = kind, .work_dim = 1, .rows = 1};
    return node;
}

struct recording_arg *recording_add_arg(struct recording_node *node, enum arg_kind kind)
{
    if (node->n_args == RECORDING_MAX_ARGS)
        return NULL;
    struct recording_arg *args = grow(node->args, node->n_args, sizeof *args);
    if (!args)
        return NULL;
    node->args = args;
    struct recording_arg *arg = &node->args[node->n_args++];
    *arg = (struct recording_arg){.kind = kind};
    return arg;
}

int recording_add_edge(struct recording_call *call, uint32_t from, uint32_t to)
{
    if (call->n_edges == RECORDING_MAX_EDGES)
        return -1;
    struct recording_edge *edges = grow(call->edges, call->n_edges, sizeof *edges);
    if (!edges)
        return -1;
    call->edges = edges;
    call->edges[call->n_edges++] = (struct recording_edge){.from = from, .to = to};
    return 0;
}

struct recording_buffer *recording_add_buffer(struct recording_call *call, uint64_t bytes)
{
    if (call->n_buffers == RECORDING_MAX_BUFFERS)
        return NULL;
    struct recording_buffer *buffers = grow(call->buffers, call->n_buffers, sizeof *buffers);
    if (!buffers)
        return NULL;
    call->buffers = buffers;
    struct recording_buffer *buffer = &call->buffers[call->n_buffers++];
    *buffer = (struct recording_buffer){.bytes = bytes};
    return buffer;
}

struct recording_global *recording_add_global(struct recording_call *call, size_t image,
                                              const char *name, size_t blob)
{
    if (call->n_globals == RECORDING_MAX_GLOBALS)
        return NULL;
    struct recording_global *globals = grow(call->globals, call->n_globals, sizeof *globals);
    if (!globals)
        return NULL;
    call->globals = globals;
    struct recording_global *global = &call->globals[call->n_globals];
    *global = (struct recording_global){image, strdup(name), blob};
    if (!global->name)
        return NULL;
    call->n_globals++;
    return global;
}

struct recording_attribute *recording_add_attribute(struct recording_node *node, const char *name)
{
    if (node->n_attributes == RECORDING_MAX_ATTRIBUTES)
        return NULL;
    struct recording_attribute *attributes =
        grow(node->attributes, node->n_attributes, sizeof *attributes);
    if (!attributes)
        return NULL;
    node->attributes = attributes;
    struct recording_attribute *attribute = &node->attributes[node->n_attributes];
    *attribute = (struct recording_attribute){.name = strdup(name)};
    if (!attribute->name)
        return NULL;
    node->n_attributes++;
    return attribute;
}

static void map_images(struct recording_node *node, const size_t *image_map)
{
    node->image = image_map[node->image];
    for (size_t i = 0; i < node->n_args; i++)
        if (node->args[i].kind == ARG_VARIABLE)
            node->args[i].image = image_map[node->args[i].image];
}

int recording_merge(struct recording *r, struct recording *other, kgrade_error *err)
{
    if (strcmp(r->device, other->device) || strcmp(r->task, other->task) ||
        r->n_params != other->n_params || r->n_dims != other->n_dims)
        return fail(err, "recording_invalid", "Record the candidate for this task and device.",
                    "The recording is of another task or device.");
    if (!has_all(r, other))
        return fail(err, "recording_invalid", "Record the candidate again.",
                    "The recording names code or contents that were never handed over.");
    size_t blob_map[RECORDING_MAX_BLOBS], image_map[RECORDING_MAX_IMAGES];
    for (size_t i = 0; i < other->n_blobs; i++) {
        blob_map[i] = take_blob(r, other, i);
        if (blob_map[i] == SIZE_MAX)
            return fail(err, "recording_too_large", NULL, "The recording holds more than %d blobs.",
                        RECORDING_MAX_BLOBS);
    }
    for (size_t i = 0; i < other->n_images; i++) {
        const struct recording_image *image = &other->images[i];
        image_map[i] =
            recording_add_image_of(r, image->kind, image->options, blob_map[image->blob]);
        if (image_map[i] == SIZE_MAX)
            return fail(err, "recording_too_large", NULL,
                        "The recording holds more than %d images.", RECORDING_MAX_IMAGES);
    }
    for (size_t i = 0; i < other->n_calls; i++) {
        struct recording_call *from = &other->calls[i];
        struct recording_call *to = recording_add_call(r, from->dims);
        if (!to)
            return fail(err, "recording_too_large", NULL, "The recording holds more than %d calls.",
                        RECORDING_MAX_CALLS);
        *to = *from;
        *from = (struct recording_call){0};
        for (size_t n = 0; n < to->n_nodes; n++)
            if (to->nodes[n].kind == NODE_KERNEL)
                map_images(&to->nodes[n], image_map);
        for (size_t b = 0; b < to->n_buffers; b++)
            if (to->buffers[b].has_contents)
                to->buffers[b].blob = blob_map[to->buffers[b].blob];
        for (size_t g = 0; g < to->n_globals; g++) {
            to->globals[g].image = image_map[to->globals[g].image];
            to->globals[g].blob = blob_map[to->globals[g].blob];
        }
    }
    other->n_calls = 0;
    return 0;
}

bool recording_has_work(const struct recording_call *call)
{
    for (size_t i = 0; i < call->n_nodes; i++)
        if (call->nodes[i].kind != NODE_EMPTY)
            return true;
    return false;
}

const struct recording_call *recording_find_call(const struct recording *r, const int64_t *dims)
{
    for (size_t i = 0; i < r->n_calls; i++)
        if (!memcmp(r->calls[i].dims, dims, r->n_dims * sizeof *dims))
            return &r->calls[i];
    return NULL;
}
