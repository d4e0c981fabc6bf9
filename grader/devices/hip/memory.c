/* What a call may depend on besides its arguments: the candidate's memory, and the variables of its modules. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "../shared/runs.h"
#include "capture.h"

/* Where pointers cannot keep their values, memory that holds one cannot be carried. */
static int check_pointers(const void *data, size_t size, const char *where, kgrade_error *err)
{
    if (arena_is_home(&capture.arena) ||
        !arena_could_point(data, size, capture.arena.address, capture.arena.bytes))
        return 0;
    return fail(err, "pointer_in_memory",
                "Pass pointers as arguments of the kernel, or install ROCm 6 or later.",
                "%s holds pointers; with this runtime's memory only arguments that are pointers "
                "can be recorded.",
                where);
}

static int add_buffer(uint64_t address, uint64_t bytes, const void *contents, kgrade_error *err)
{
    struct recording_buffer *buffer = recording_add_buffer(capture.call, bytes);
    if (!buffer)
        return fail(err, "workspace_too_large", "Allocate fewer, larger blocks.",
                    "The call uses more than %d separate pieces of memory of its own.",
                    RECORDING_MAX_BUFFERS);
    buffer->address = arena_to_recording(&capture.arena, address);
    buffer->has_contents = contents != NULL;
    if (!contents)
        return 0;
    buffer->blob = recording_add_blob(capture.recording, contents, bytes);
    return buffer->blob == SIZE_MAX
               ? fail(err, "recording_too_large", "Keep less state between calls.",
                      "The recording holds more than %d blobs.", RECORDING_MAX_BLOBS)
               : 0;
}

/* A block as pieces that are zero and pieces that are not. */
static int add_contents(const struct workspace_block *block, size_t max_pieces, uint64_t *content,
                        kgrade_error *err)
{
    cleanup_free uint8_t *copy = malloc(block->bytes);
    cleanup_free struct run *runs = malloc(max_pieces * sizeof *runs);
    if (!copy || !runs)
        return fail(err, "out_of_memory", NULL,
                    "No memory for %llu bytes of the candidate's memory.",
                    (unsigned long long)block->bytes);
    RUNTIME_TRY(err, hip.hipMemcpy(copy, (void *)(uintptr_t)block->address, block->bytes,
                                   HIP_COPY_DEVICE_TO_HOST));
    if (check_pointers(copy, block->bytes, "Memory that the candidate wrote before the call", err))
        return -1;
    size_t n = runs_of(copy, block->bytes, runs, max_pieces);
    for (size_t i = 0; i < n; i++) {
        *content += runs[i].is_zero ? 0 : runs[i].bytes;
        if (*content > CAPTURE_MAX_CONTENT_BYTES)
            return fail(err, "workspace_too_large",
                        "Keep less state between calls, or clear scratch memory after use.",
                        "The call may depend on more than %llu MiB of memory that the candidate "
                        "wrote before it.",
                        CAPTURE_MAX_CONTENT_BYTES >> 20);
        if (add_buffer(block->address + runs[i].from, runs[i].bytes,
                       runs[i].is_zero ? NULL : copy + runs[i].from, err))
            return -1;
    }
    return 0;
}

static int write_workspace(kgrade_error *err)
{
    size_t n = workspace_blocks(capture.workspace, NULL, 0);
    cleanup_free struct workspace_block *blocks = malloc((n + 1) * sizeof *blocks);
    if (!blocks)
        return fail(err, "out_of_memory", NULL, "No memory for a list of blocks.");
    size_t got = workspace_blocks(capture.workspace, blocks, n);
    n = got < n ? got : n;
    if (n > RECORDING_MAX_BUFFERS)
        return fail(err, "workspace_too_large", "Allocate fewer, larger blocks.",
                    "The candidate holds %zu blocks of memory; at most %d can be recorded.", n,
                    RECORDING_MAX_BUFFERS);
    size_t pieces = n ? RECORDING_MAX_BUFFERS / n : 0;
    uint64_t content = 0;
    for (size_t i = 0; i < n; i++)
        if (blocks[i].is_marked ? add_contents(&blocks[i], pieces, &content, err)
                                : add_buffer(blocks[i].address, blocks[i].bytes, NULL, err))
            return -1;
    return 0;
}

static bool is_initial(const struct code_object_variable *variable, const uint8_t *value)
{
    if (variable->initial)
        return !memcmp(value, variable->initial, variable->bytes);
    for (uint64_t i = 0; i < variable->bytes; i++)
        if (value[i])
            return false;
    return true;
}

static int add_variable(const struct module *m, const struct code_object_variable *variable,
                        kgrade_error *err)
{
    void *address = NULL;
    size_t bytes = 0;
    /* What the runtime does not find, host code cannot have set; and addresses are set by the loader, here as there. */
    if (variable->constant || variable->relocated ||
        hip.hipModuleGetGlobal(&address, &bytes, m->handle, variable->name) != HIP_SUCCESS ||
        bytes != variable->bytes)
        return 0;
    if (bytes > CAPTURE_MAX_VARIABLE_BYTES)
        return fail(err, "workspace_too_large", "Use memory from hipMalloc for large arrays.",
                    "The variable %.200s has %zu bytes; at most %llu can be recorded.",
                    variable->name, bytes, CAPTURE_MAX_VARIABLE_BYTES);
    cleanup_free uint8_t *value = malloc(bytes ? bytes : 1);
    if (!value)
        return fail(err, "out_of_memory", NULL, "No memory for a variable of %zu bytes.", bytes);
    RUNTIME_TRY(err, hip.hipMemcpy(value, address, bytes, HIP_COPY_DEVICE_TO_HOST));
    if (is_initial(variable, value))
        return 0;
    if (check_pointers(value, bytes, "A variable of the candidate's code", err))
        return -1;
    size_t blob = recording_add_blob(capture.recording, value, bytes);
    if (blob == SIZE_MAX ||
        !recording_add_global(capture.call, m->image_in_call, variable->name, blob))
        return fail(err, "recording_too_large", "Keep less state in variables.",
                    "The modules have more variables with values than can be recorded.");
    return 0;
}

int memory_write(kgrade_error *err)
{
    if (write_workspace(err))
        return -1;
    for (size_t i = 0; i < capture.n_modules; i++) {
        const struct module *m = capture.modules[i];
        struct code_object_variable variable;
        uint64_t cursor = 0;
        if (m->image_in_call == SIZE_MAX)
            continue;
        while (code_object_next_variable(m->object, &cursor, &variable))
            if (add_variable(m, &variable, err))
                return -1;
    }
    return 0;
}
