/*
 * A recording is hostile input: the parser must refuse or take any bytes.  What it takes has only valid indices, is
 * written to bytes that parse to the same again, can be shown, and can be merged with the call that another recorder sent.
 *
 * Input that does not begin as a recording does is taken for a manifest without blobs, so that the fuzzer need not learn
 * lengths and hashes before it gets anywhere.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <stdio.h>

#include "grader/kgrade.h"
#include "grader/recording.h"
#include "grader/recording_format.h"
#include "sandbox/base/cleanup.h"

static void check_place(const struct recording *r, const struct recording_call *call, size_t buffer)
{
    require(buffer < r->n_params + call->n_buffers ||
            (buffer == SIZE_MAX && !strcmp(r->device, "cuda")));
}

static void check_kernel(const struct recording *r, const struct recording_call *call,
                         const struct recording_node *node)
{
    size_t bytes = 0;
    require(node->image < r->n_images && node->name && node->name[0]);
    require(node->work_dim >= 1 && node->work_dim <= 3 && node->n_args <= RECORDING_MAX_ARGS);
    for (size_t i = 0; i < node->n_args; i++) {
        const struct recording_arg *arg = &node->args[i];
        if (arg->kind == ARG_BUFFER)
            require(arg->buffer < r->n_params + call->n_buffers);
        if (arg->kind == ARG_VARIABLE)
            require((bytes += arg->size) <= RECORDING_MAX_ARG_BYTES &&
                    arg->offset + arg->size <= RECORDING_MAX_ARG_BYTES && arg->name &&
                    arg->image < r->n_images);
        if (arg->kind == ARG_BYTES)
            require((bytes += arg->size) <= RECORDING_MAX_ARG_BYTES &&
                    arg->offset + arg->size <= RECORDING_MAX_ARG_BYTES && arg->bytes);
    }
    for (size_t i = 0; i < node->n_attributes; i++)
        require(node->attributes[i].name && node->attributes[i].n <= 4);
}

static void check_call(const struct recording *r, const struct recording_call *call)
{
    for (size_t i = 0; i < call->n_nodes; i++) {
        const struct recording_node *node = &call->nodes[i];
        if (node->kind == NODE_KERNEL)
            check_kernel(r, call, node);
        if (node->kind == NODE_COPY)
            check_place(r, call, node->from_buffer);
        if (node->kind == NODE_COPY || node->kind == NODE_FILL)
            check_place(r, call, node->to_buffer);
        if (node->kind == NODE_FILL)
            require(node->pattern_bytes >= 1 && node->pattern_bytes <= sizeof node->pattern);
    }
    for (size_t i = 0; i < call->n_edges; i++)
        require(call->edges[i].from < call->n_nodes && call->edges[i].to < call->n_nodes);
    for (size_t i = 0; i < call->n_buffers; i++)
        require(!call->buffers[i].has_contents ||
                (call->buffers[i].blob < r->n_blobs &&
                 r->blobs[call->buffers[i].blob].size == call->buffers[i].bytes));
    for (size_t i = 0; i < call->n_globals; i++)
        require(call->globals[i].image < r->n_images && call->globals[i].blob < r->n_blobs);
    require(recording_find_call(r, call->dims) == call);
}

static void check(const struct recording *r)
{
    require(r->n_params <= TASK_MAX_PARAMS && r->n_dims <= r->n_params);
    require(r->n_calls <= RECORDING_MAX_CALLS && r->n_images <= RECORDING_MAX_IMAGES);
    for (size_t i = 0; i < r->n_images; i++)
        require(r->images[i].blob < r->n_blobs);
    for (size_t i = 0; i < r->n_calls; i++)
        check_call(r, &r->calls[i]);
}

static void round_trip(const struct recording *r, struct bytes *file)
{
    cleanup_recording struct recording *again = NULL;
    cleanup_bytes struct bytes second = {0};
    require(recording_write(r, file, NULL) == 0);
    require(recording_parse(file->data, file->size, &again, NULL) == 0);
    require(recording_write(again, &second, NULL) == 0);
    require(second.size == file->size && !memcmp(second.data, file->data, second.size));
}

static void show(const struct bytes *file)
{
    for (int dot = 0; dot < 2; dot++) {
        cleanup_free char *text = NULL;
        require(kgrade_recording_show(file->data, file->size, dot, &text, NULL) == 0);
        require(text && text[0]);
    }
}

/* As the grader does with what recorders send, one call after the other. */
static void merge(const struct bytes *file)
{
    cleanup_recording struct recording *one = NULL, *other = NULL;
    cleanup_bytes struct bytes both = {0};
    require(recording_parse(file->data, file->size, &one, NULL) == 0);
    require(recording_parse(file->data, file->size, &other, NULL) == 0);
    size_t n_calls = one->n_calls, n_blobs = one->n_blobs;
    for (size_t i = 0; i < other->n_calls && other->n_dims; i++)
        other->calls[i].dims[0] = -1 - (int64_t)i;
    if (recording_merge(one, other, NULL))
        return;
    require(one->n_calls == 2 * n_calls && one->n_blobs == n_blobs);
    require(recording_write(one, &both, NULL) == 0);
}

static void try_file(const uint8_t *data, size_t size)
{
    cleanup_recording struct recording *recording = NULL;
    cleanup_bytes struct bytes file = {0};
    kgrade_error err = {.code = ""};
    if (recording_parse(data, size, &recording, &err)) {
        require(!recording && !strcmp(err.code, "recording_invalid") && err.message[0]);
        return;
    }
    check(recording);
    round_trip(recording, &file);
    show(&file);
    merge(&file);
}

static void try_manifest(const uint8_t *data, size_t size)
{
    uint8_t *file = malloc(RECORDING_HEADER_BYTES + size);
    require(file);
    memcpy(file, RECORDING_MAGIC, 8);
    for (int i = 0; i < 8; i++)
        file[8 + i] = (uint8_t)((uint64_t)size >> (8 * i));
    if (size)
        memcpy(file + RECORDING_HEADER_BYTES, data, size);
    try_file(file, RECORDING_HEADER_BYTES + size);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_file(data, size);
    if (size && data[0] != RECORDING_MAGIC[0])
        try_manifest(data, size);
    return 0;
}
