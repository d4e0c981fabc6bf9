#define _GNU_SOURCE
#include "restore.h"

#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/fail.h"
#include "../../replay/worker.h"

#define MAX_VARIABLES 65536 /* of all images of a call */

static struct restore_piece *add(struct restore *r)
{
    /* Grows at powers of two. */
    if ((r->n & (r->n - 1)) == 0) {
        struct restore_piece *more = realloc(r->pieces, (r->n ? 2 * r->n : 1) * sizeof *more);
        if (!more)
            return NULL;
        r->pieces = more;
    }
    r->pieces[r->n] = (struct restore_piece){0};
    return &r->pieces[r->n++];
}

static int no_memory(kgrade_error *err)
{
    return fail(err, "out_of_memory", NULL, "No memory for what a call depends on.");
}

static int add_buffers(struct restore *r, const struct recording *recording,
                       const struct recording_call *call, const struct arena *arena,
                       kgrade_error *err)
{
    for (size_t i = 0; i < call->n_buffers; i++) {
        const struct recording_buffer *b = &call->buffers[i];
        uint64_t address = arena_from_recording(arena, b->address);
        if (!arena_holds(arena, address, b->bytes) ||
            address - arena->address + b->bytes > arena->workspace_bytes)
            return fail(err, "recording_invalid", REPLAY_INVALID_HINT,
                        "Buffer %zu does not lie in the workspace.", i);
        if (!b->has_contents)
            continue;
        const struct bytes *blob = &recording->blobs[b->blob];
        if (blob->size != b->bytes)
            return fail(err, "recording_invalid", REPLAY_INVALID_HINT,
                        "Buffer %zu is not as large as its contents.", i);
        if (!arena_is_home(arena) &&
            arena_could_point(blob->data, blob->size, ARENA_HOME, arena->bytes))
            return fail(err, "recording_invalid",
                        "Replay where memory can be mapped at a chosen address: ROCm 6 or later.",
                        "Buffer %zu holds pointers.", i);
        struct restore_piece *piece = add(r);
        if (!piece)
            return no_memory(err);
        *piece = (struct restore_piece){address, b->bytes, blob->data};
    }
    return 0;
}

/* The value that host code had set, or NULL. */
static const struct bytes *recorded(const struct recording *recording,
                                    const struct recording_call *call, size_t image,
                                    const char *name)
{
    for (size_t i = 0; i < call->n_globals; i++)
        if (call->globals[i].image == image && !strcmp(call->globals[i].name, name))
            return &recording->blobs[call->globals[i].blob];
    return NULL;
}

/* *found: counts the values that have found their variable. */
static int add_variables(struct restore *r, size_t *found, size_t image,
                         const struct rebuilt_image *from, const struct recording *recording,
                         const struct recording_call *call, kgrade_error *err)
{
    struct code_object_variable v;
    uint64_t cursor = 0;
    while (code_object_next_variable(from->object, &cursor, &v)) {
        void *address = NULL;
        size_t bytes = 0;
        const struct bytes *set = recorded(recording, call, image, v.name);
        if (set && set->size != v.bytes)
            return fail(err, "recording_invalid", REPLAY_INVALID_HINT,
                        "The variable %.200s is not as large as its value.", v.name);
        if (v.relocated || (v.constant && !set) ||
            hip.hipModuleGetGlobal(&address, &bytes, from->handle, v.name) != HIP_SUCCESS)
            continue;
        if (bytes != v.bytes || r->n >= MAX_VARIABLES)
            return fail(err, "recording_invalid", REPLAY_INVALID_HINT,
                        "The variable %.200s cannot be put back.", v.name);
        *found += set != NULL;
        struct restore_piece *piece = add(r);
        if (!piece)
            return no_memory(err);
        *piece = (struct restore_piece){(uint64_t)(uintptr_t)address, v.bytes,
                                        set ? set->data : v.initial};
    }
    return 0;
}

int restore_open(struct restore *ret, const struct rebuilt *rebuilt,
                 const struct recording *recording, const struct recording_call *call,
                 const struct arena *arena, kgrade_error *err)
{
    struct restore r = {0};
    size_t found = 0;
    int failed = add_buffers(&r, recording, call, arena, err);
    for (size_t i = 0; !failed && i < rebuilt->n_images; i++)
        if (rebuilt->images[i].handle)
            failed = add_variables(&r, &found, i, &rebuilt->images[i], recording, call, err);
    if (!failed && found != call->n_globals)
        failed = fail(err, "recording_invalid", REPLAY_INVALID_HINT,
                      "The call sets a variable that its images do not have.");
    if (failed) {
        restore_close(&r);
        return -1;
    }
    *ret = r;
    return 0;
}

int restore_do(const struct restore *restore, const struct arena *arena, hip_stream stream,
               kgrade_error *err)
{
    if (arena->workspace_bytes)
        RUNTIME_TRY(err, hip.hipMemsetAsync((void *)(uintptr_t)arena->address, 0,
                                            (size_t)arena->workspace_bytes, stream));
    for (size_t i = 0; i < restore->n; i++) {
        const struct restore_piece *p = &restore->pieces[i];
        void *at = (void *)(uintptr_t)p->address;
        if (p->bytes == 0)
            continue;
        hip_error result = p->contents ? hip.hipMemcpyAsync(at, p->contents, (size_t)p->bytes,
                                                            HIP_COPY_HOST_TO_DEVICE, stream)
                                       : hip.hipMemsetAsync(at, 0, (size_t)p->bytes, stream);
        if (result != HIP_SUCCESS)
            return runtime_fail(err, "device_failed", result, "Restoring what a call depends on");
    }
    return 0;
}

void restore_close(struct restore *restore)
{
    free(restore->pieces);
    *restore = (struct restore){0};
}
