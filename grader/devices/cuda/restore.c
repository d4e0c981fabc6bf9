#define _GNU_SOURCE
#include "restore.h"

#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "cubin.h"

#define INVALID_HINT "Record the candidate again on this machine."
#define STORE_ALIGN 256u

/* One range with where its value comes from: host memory, the device as it is now, or nothing (zeros). */
struct piece {
    struct kernels_range range; /* `from` is an offset in the store until the store exists */
    const void *value;
    bool is_kept; /* copy the device's present contents into the store */
};

struct plan {
    struct piece *pieces;
    size_t n, room;
    uint64_t store_bytes, bytes;
    kgrade_error *err;
};

static int add_piece(struct plan *plan, CUdeviceptr to, uint64_t bytes, const void *value,
                     bool is_kept)
{
    if (plan->n == RESTORE_MAX_RANGES || bytes > RESTORE_MAX_BYTES - plan->bytes)
        return fail(plan->err, "recording_invalid", "Keep less state between calls.",
                    "The call depends on more than %llu bytes of memory of its own.",
                    RESTORE_MAX_BYTES);
    if (plan->n == plan->room) {
        size_t room = plan->room ? 2 * plan->room : 64;
        struct piece *pieces = realloc(plan->pieces, room * sizeof *pieces);
        if (!pieces)
            return fail(plan->err, "out_of_memory", NULL, "No memory for what a replay restores.");
        plan->pieces = pieces;
        plan->room = room;
    }
    struct piece piece = {.range = {.to = to, .bytes = bytes}, .value = value, .is_kept = is_kept};
    if (value || is_kept) {
        piece.range.from = plan->store_bytes;
        plan->store_bytes += (bytes + STORE_ALIGN - 1) / STORE_ALIGN * STORE_ALIGN;
    }
    plan->bytes += bytes;
    plan->pieces[plan->n++] = piece;
    return 0;
}

/* What is all zeros needs nothing: the workspace is cleared before it is restored. */
static int plan_buffers(struct plan *plan, const struct rebuild_place *place,
                        const struct recording *recording, const struct recording_call *call)
{
    const struct arena *arena = place->arena;
    for (size_t i = 0; i < call->n_buffers; i++) {
        const struct recording_buffer *buffer = &call->buffers[i];
        uint64_t from = buffer->address - arena->address;
        if (buffer->address < arena->address || from > arena->workspace_bytes ||
            buffer->bytes > arena->workspace_bytes - from)
            return fail(plan->err, "recording_invalid", INVALID_HINT,
                        "Buffer %zu lies outside the workspace.", i);
        const void *value = buffer->has_contents ? recording->blobs[buffer->blob].data : NULL;
        if (buffer->bytes && value && add_piece(plan, buffer->address, buffer->bytes, value, false))
            return -1;
    }
    return 0;
}

static const struct recording_global *find_global(const struct recording_call *call, size_t image,
                                                  const char *name)
{
    for (size_t i = 0; i < call->n_globals; i++)
        if (call->globals[i].image == image && !strcmp(call->globals[i].name, name))
            return &call->globals[i];
    return NULL;
}

/* Constant memory is written once: device code cannot change it. */
static int plan_variable(struct plan *plan, const struct recording *recording,
                         const struct recording_global *global, CUmodule module,
                         const struct cubin_variable *variable)
{
    CUdeviceptr address = 0;
    size_t bytes = 0;
    if (cuModuleGetGlobal(&address, &bytes, module, variable->name) != CUDA_SUCCESS)
        return global
                   ? fail(plan->err, "recording_invalid", INVALID_HINT,
                          "The variable \"%.200s\" is not in the image that it was recorded from.",
                          variable->name)
                   : 0;
    const struct bytes *value = global ? &recording->blobs[global->blob] : NULL;
    if (value && value->size != bytes)
        return fail(plan->err, "recording_invalid", INVALID_HINT,
                    "The variable \"%.200s\" has another size.", variable->name);
    if (value)
        DRIVER_TRY(plan->err, cuMemcpyHtoD(address, value->data, value->size));
    return variable->constant ? 0
                              : add_piece(plan, address, bytes, value ? value->data : NULL, !value);
}

static int plan_variables(struct plan *plan, const struct rebuilt *rebuilt,
                          const struct recording *recording, const struct recording_call *call)
{
    size_t found = 0;
    for (size_t i = 0; i < rebuilt->n_images; i++) {
        const struct bytes *blob = &recording->blobs[recording->images[i].blob];
        struct cubin cubin;
        struct cubin_variable variable;
        uint64_t cursor = 0;
        if (!rebuilt->images[i].used || !cubin_parse(blob->data, blob->size, &cubin))
            continue;
        while (cubin_next_variable(&cubin, &cursor, &variable)) {
            const struct recording_global *global = find_global(call, i, variable.name);
            if (global)
                found++;
            if (plan_variable(plan, recording, global, rebuilt->images[i].module, &variable))
                return -1;
        }
    }
    if (found != call->n_globals)
        return fail(plan->err, "recording_invalid", INVALID_HINT,
                    "The recording has values for variables that its images do not have.");
    return 0;
}

static int fill_store(const struct plan *plan, struct restore *r)
{
    for (size_t i = 0; i < plan->n; i++) {
        struct piece *piece = &plan->pieces[i];
        CUdeviceptr from = r->store + piece->range.from;
        if (piece->value)
            DRIVER_TRY(plan->err, cuMemcpyHtoD(from, piece->value, piece->range.bytes));
        else if (piece->is_kept)
            DRIVER_TRY(plan->err, cuMemcpyDtoD(from, piece->range.to, piece->range.bytes));
        piece->range.from = piece->value || piece->is_kept ? from : 0;
    }
    return 0;
}

static int fill_table(const struct plan *plan, struct restore *r)
{
    cleanup_free struct kernels_range *ranges = malloc((plan->n + 1) * sizeof *ranges);
    if (!ranges)
        return fail(plan->err, "out_of_memory", NULL, "No memory for what a replay restores.");
    for (size_t i = 0; i < plan->n; i++)
        ranges[i] = plan->pieces[i].range;
    DRIVER_TRY(plan->err, cuMemAlloc(&r->table, (plan->n + 1) * sizeof *ranges));
    DRIVER_TRY(plan->err, cuMemcpyHtoD(r->table, ranges, plan->n * sizeof *ranges));
    r->n = (uint32_t)plan->n;
    r->bytes = plan->bytes;
    return 0;
}

static int open_plan(struct plan *plan, struct restore *r, const struct rebuild_place *place,
                     const struct rebuilt *rebuilt, const struct recording *recording,
                     const struct recording_call *call, CUstream stream)
{
    if (plan_buffers(plan, place, recording, call) ||
        plan_variables(plan, rebuilt, recording, call))
        return -1;
    if (plan->n == 0)
        return 0;
    if (plan->store_bytes)
        DRIVER_TRY(plan->err, cuMemAlloc(&r->store, plan->store_bytes));
    if (fill_store(plan, r) || fill_table(plan, r))
        return -1;
    DRIVER_TRY(plan->err, cuCtxSynchronize());
    struct launch_target target = {.stream = stream};
    return restore_queue(r, place->kernels, &target, plan->err);
}

int restore_open(struct restore *ret, const struct rebuild_place *place,
                 const struct rebuilt *rebuilt, const struct recording *recording,
                 const struct recording_call *call, CUstream stream, kgrade_error *err)
{
    struct restore r = {0};
    struct plan plan = {.err = err};
    int result = open_plan(&plan, &r, place, rebuilt, recording, call, stream);
    free(plan.pieces);
    if (result) {
        restore_close(&r);
        return -1;
    }
    driver_trace("%u ranges, %llu bytes to restore", r.n, (unsigned long long)r.bytes);
    *ret = r;
    return 0;
}

void restore_close(struct restore *restore)
{
    if (restore->store)
        cuMemFree(restore->store);
    if (restore->table)
        cuMemFree(restore->table);
    *restore = (struct restore){0};
}

int restore_queue(const struct restore *restore, const struct kernels *kernels,
                  struct launch_target *target, kgrade_error *err)
{
    if (restore->n == 0)
        return 0;
    CUdeviceptr table = restore->table;
    uint32_t n = restore->n;
    void *arguments[] = {&table, &n};
    return kernels_launch(kernels, KERNEL_RESTORE, kernels_blocks(kernels, restore->bytes / 16 + 1),
                          KERNELS_THREADS, target, arguments, err);
}
