#define _GNU_SOURCE
#include "work.h"

#include <string.h>

/* A recording's half of the comparison. */
struct half {
    const struct recording *recording;
    const struct recording_call *call;
};

/* On a device whose pointers are plain numbers, an argument that points into the candidate's own memory. */
static bool is_own_address(const struct half *h, uint64_t value)
{
    for (size_t i = 0; i < h->call->n_buffers; i++) {
        const struct recording_buffer *b = &h->call->buffers[i];
        if (b->address && value >= b->address && value - b->address <= b->bytes)
            return true;
    }
    return false;
}

static bool same_number(const struct half *a, uint64_t x, const struct half *b, uint64_t y)
{
    return x == y || (is_own_address(a, x) && is_own_address(b, y));
}

/* Pointers are aligned, also in structures that are passed by value. */
static bool same_bytes(const struct half *a, const struct recording_arg *x, const struct half *b,
                       const struct recording_arg *y)
{
    size_t at = 0;
    for (uint64_t u, v; at + sizeof u <= x->size; at += sizeof u) {
        memcpy(&u, x->bytes + at, sizeof u);
        memcpy(&v, y->bytes + at, sizeof v);
        if (!same_number(a, u, b, v))
            return false;
    }
    return !memcmp(x->bytes + at, y->bytes + at, x->size - at);
}

/* Parameters of the task must be the same; one buffer of the candidate's own is like another. */
static bool same_buffer(const struct half *a, size_t x, size_t y)
{
    size_t n = a->recording->n_params;
    return x == y || (x >= n && y >= n);
}

static bool same_image(const struct half *a, size_t x, const struct half *b, size_t y)
{
    const struct recording_image *i = &a->recording->images[x], *k = &b->recording->images[y];
    return !strcmp(i->kind, k->kind) && !strcmp(i->options, k->options) &&
           !strcmp(a->recording->blob_hashes[i->blob], b->recording->blob_hashes[k->blob]);
}

static bool same_argument(const struct half *a, const struct recording_arg *x, const struct half *b,
                          const struct recording_arg *y)
{
    if (x->kind != y->kind || x->offset != y->offset || x->size != y->size)
        return false;
    switch (x->kind) {
    case ARG_BUFFER:
        return same_buffer(a, x->buffer, y->buffer);
    case ARG_BYTES:
        return same_bytes(a, x, b, y);
    case ARG_VARIABLE:
        return same_image(a, x->image, b, y->image) && !strcmp(x->name, y->name) && x->at == y->at;
    case ARG_LOCAL:
        break;
    }
    return true;
}

static bool same_arguments(const struct half *a, const struct recording_node *x,
                           const struct half *b, const struct recording_node *y)
{
    if (x->n_args != y->n_args)
        return false;
    for (size_t i = 0; i < x->n_args; i++)
        if (!same_argument(a, &x->args[i], b, &y->args[i]))
            return false;
    return true;
}

static bool same_attribute(const struct half *a, const struct recording_attribute *x,
                           const struct half *b, const struct recording_attribute *y)
{
    if (strcmp(x->name, y->name) || x->n != y->n)
        return false;
    for (size_t i = 0; i < x->n; i++)
        if (!same_number(a, (uint64_t)x->values[i], b, (uint64_t)y->values[i]))
            return false;
    return true;
}

static bool same_settings(const struct half *a, const struct recording_node *x,
                          const struct half *b, const struct recording_node *y)
{
    if (x->n_attributes != y->n_attributes)
        return false;
    for (size_t i = 0; i < x->n_attributes; i++)
        if (!same_attribute(a, &x->attributes[i], b, &y->attributes[i]))
            return false;
    return true;
}

static bool same_grid(const struct recording_node *x, const struct recording_node *y)
{
    return x->work_dim == y->work_dim && x->shared_bytes == y->shared_bytes &&
           !memcmp(x->grid, y->grid, sizeof x->grid) &&
           !memcmp(x->block, y->block, sizeof x->block) &&
           !memcmp(x->offset, y->offset, sizeof x->offset);
}

static enum work_difference compare_kernels(const struct half *a, const struct recording_node *x,
                                            const struct half *b, const struct recording_node *y)
{
    if (strcmp(x->name, y->name))
        return WORK_KERNEL;
    if (!same_image(a, x->image, b, y->image))
        return WORK_IMAGE;
    if (!same_grid(x, y))
        return WORK_GRID;
    if (!same_settings(a, x, b, y))
        return WORK_SETTINGS;
    return same_arguments(a, x, b, y) ? WORK_SAME : WORK_ARGUMENTS;
}

/* One end of a copy or fill.  Where pointers are plain numbers, buffers have no index and the address is in the offset. */
static bool same_place(const struct half *a, size_t buffer_x, uint64_t offset_x,
                       const struct half *b, size_t buffer_y, uint64_t offset_y)
{
    if (buffer_x == SIZE_MAX || buffer_y == SIZE_MAX)
        return buffer_x == buffer_y && same_number(a, offset_x, b, offset_y);
    return same_buffer(a, buffer_x, buffer_y) && offset_x == offset_y;
}

static enum work_difference compare_transfers(const struct half *a, const struct recording_node *x,
                                              const struct half *b, const struct recording_node *y)
{
    bool same = x->bytes == y->bytes && x->rows == y->rows && x->from_pitch == y->from_pitch &&
                x->to_pitch == y->to_pitch && x->pattern_bytes == y->pattern_bytes &&
                !memcmp(x->pattern, y->pattern, x->pattern_bytes) &&
                same_place(a, x->to_buffer, x->to_offset, b, y->to_buffer, y->to_offset) &&
                (x->kind == NODE_FILL ||
                 same_place(a, x->from_buffer, x->from_offset, b, y->from_buffer, y->from_offset));
    return same ? WORK_SAME : WORK_TRANSFER;
}

static enum work_difference compare_nodes(const struct half *a, const struct recording_node *x,
                                          const struct half *b, const struct recording_node *y)
{
    if (x->kind != y->kind)
        return WORK_NODES;
    switch (x->kind) {
    case NODE_KERNEL:
        return compare_kernels(a, x, b, y);
    case NODE_COPY:
    case NODE_FILL:
        return compare_transfers(a, x, b, y);
    case NODE_EMPTY:
        break;
    }
    return WORK_SAME;
}

static bool same_edges(const struct recording_call *a, const struct recording_call *b)
{
    if (a->n_edges != b->n_edges)
        return false;
    for (size_t i = 0; i < a->n_edges; i++) {
        const struct recording_edge *x = &a->edges[i], *y = &b->edges[i];
        if (x->from != y->from || x->to != y->to || x->from_port != y->from_port ||
            x->to_port != y->to_port || x->type != y->type)
            return false;
    }
    return true;
}

enum work_difference work_compare(const struct recording *a, const struct recording_call *call_a,
                                  const struct recording *b, const struct recording_call *call_b)
{
    const struct half x = {a, call_a}, y = {b, call_b};
    if (call_a->n_nodes != call_b->n_nodes)
        return WORK_NODES;
    for (size_t i = 0; i < call_a->n_nodes; i++) {
        enum work_difference d = compare_nodes(&x, &call_a->nodes[i], &y, &call_b->nodes[i]);
        if (d != WORK_SAME)
            return d;
    }
    return same_edges(call_a, call_b) ? WORK_SAME : WORK_EDGES;
}

const char *work_words(enum work_difference difference)
{
    switch (difference) {
    case WORK_NODES:
        return "other nodes";
    case WORK_EDGES:
        return "its nodes in another order";
    case WORK_KERNEL:
        return "another kernel";
    case WORK_IMAGE:
        return "a kernel with other code";
    case WORK_GRID:
        return "a launch of another size";
    case WORK_SETTINGS:
        return "a launch with other attributes";
    case WORK_ARGUMENTS:
        return "a kernel with another argument";
    case WORK_TRANSFER:
        return "another copy or fill";
    case WORK_SAME:
        break;
    }
    return "nothing different";
}
