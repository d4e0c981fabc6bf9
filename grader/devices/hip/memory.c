/* What a call may depend on besides its arguments: the candidate's memory, and the variables of its modules. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "../shared/contents.h"
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

static int read_memory(void *to, uint64_t address, uint64_t bytes, kgrade_error *err)
{
    RUNTIME_TRY(
        err, hip.hipMemcpy(to, (void *)(uintptr_t)address, (size_t)bytes, HIP_COPY_DEVICE_TO_HOST));
    return check_pointers(to, (size_t)bytes, "Memory that the candidate wrote before the call",
                          err);
}

static uint64_t address_in_recording(uint64_t address)
{
    return arena_to_recording(&capture.arena, address);
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
    if (contents_is_initial(variable->initial, value, variable->bytes))
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
    const struct contents_source source = {
        .workspace = capture.workspace, .read = read_memory, .address = address_in_recording};
    if (contents_write(&source, capture.recording, capture.call, err))
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
