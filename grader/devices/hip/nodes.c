/* What the candidate queues during a captured call, written into the recording. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/fail.h"
#include "capture.h"

#define MAX_THREADS 1024      /* of a block, on all of AMD's devices */
#define MIN_SHARED (32 << 10) /* bytes of LDS; a device that tells of fewer has not understood */

static struct recording_node *add_node(struct stream *stream, enum node_kind kind)
{
    if (!stream->joined) {
        capture.outside++;
        return NULL;
    }
    struct recording_node *node = recording_add_node(capture.call, kind);
    if (!node) {
        capture_refuse("too_many_nodes", "Do the work in fewer, larger kernels.",
                       "The call queues more than %d operations.", RECORDING_MAX_NODES);
        return NULL;
    }
    node->from_buffer = node->to_buffer = SIZE_MAX;
    return node;
}

/* Where an argument's bytes are, in the launch's one form or the other; NULL: nowhere. */
static const uint8_t *argument_at(const struct code_object_arg *arg, size_t index,
                                  void **parameters, void **extra)
{
    if (parameters)
        return parameters[index];
    const uint8_t *buffer = NULL;
    size_t size = 0;
    for (size_t i = 0; extra && i < 8 && extra[i] && extra[i] != HIP_LAUNCH_END; i += 2) {
        if (extra[i] == HIP_LAUNCH_BUFFER)
            buffer = extra[i + 1];
        else if (extra[i] == HIP_LAUNCH_BUFFER_SIZE && extra[i + 1])
            memcpy(&size, extra[i + 1], sizeof size);
    }
    return buffer && arg->offset <= size && arg->size <= size - arg->offset ? buffer + arg->offset
                                                                            : NULL;
}

/* A pointer that a kernel declares as such. */
static int write_pointer(struct recording_arg *to, const char *kernel, size_t index)
{
    uint64_t address;
    if (to->size != sizeof address)
        return 0;
    memcpy(&address, to->bytes, sizeof address);
    uint64_t moved = arena_to_recording(&capture.arena, address);
    bool inside =
        address >= capture.arena.address && address - capture.arena.address <= capture.arena.bytes;
    if (address && !inside) {
        capture_refuse("pointer_outside_arena",
                       "Pass the task's buffers, or memory from hipMalloc.",
                       "Argument %zu of kernel %.200s points to memory that is not the "
                       "candidate's on the device.",
                       index, kernel);
        return -1;
    }
    memcpy(to->bytes, &moved, sizeof moved);
    return 0;
}

static int write_argument(struct recording_node *node, const struct code_object_arg *arg,
                          size_t index, const uint8_t *from)
{
    struct recording_arg *to = recording_add_arg(node, ARG_BYTES);
    if (!to || !(to->bytes = malloc(arg->size ? arg->size : 1))) {
        capture_refuse("kernel_arguments", "Pass arguments in a buffer.",
                       "Kernel %.200s has more than %d arguments.", node->name, RECORDING_MAX_ARGS);
        return -1;
    }
    to->offset = arg->offset;
    to->size = arg->size;
    memcpy(to->bytes, from, arg->size);
    if (arg->kind == CODE_ARG_BUFFER)
        return write_pointer(to, node->name, index);
    if (!arena_is_home(&capture.arena) &&
        arena_could_point(to->bytes, to->size, capture.arena.address, capture.arena.bytes)) {
        capture_refuse("pointer_in_struct",
                       "Pass each pointer as an argument of its own, or install ROCm 6 or later.",
                       "Argument %zu of kernel %.200s is a value that holds a pointer; with this "
                       "runtime's memory only arguments that are pointers can be recorded.",
                       index, node->name);
        return -1;
    }
    return 0;
}

static int write_arguments(struct recording_node *node, const struct code_object_kernel *kernel,
                           void **parameters, void **extra)
{
    size_t index = 0;
    if (kernel->explicit_bytes > RECORDING_MAX_ARG_BYTES) {
        capture_refuse("kernel_arguments", "Pass arguments in a buffer.",
                       "Kernel %.200s has %u bytes of arguments; at most %d can be recorded.",
                       node->name, kernel->explicit_bytes, RECORDING_MAX_ARG_BYTES);
        return -1;
    }
    for (size_t i = 0; i < kernel->n_args; i++) {
        const struct code_object_arg *arg = &kernel->args[i];
        if (arg->kind == CODE_ARG_HIDDEN)
            continue;
        if (arg->kind != CODE_ARG_VALUE && arg->kind != CODE_ARG_BUFFER) {
            capture_refuse("kernel_arguments", "Pass pointers and values.",
                           "Argument %zu of kernel %.200s is neither a value nor a pointer.", index,
                           node->name);
            return -1;
        }
        const uint8_t *from = argument_at(arg, index, parameters, extra);
        if (!from) {
            capture_refuse("kernel_arguments", "Pass all arguments of the kernel.",
                           "Kernel %.200s was launched without argument %zu.", node->name, index);
            return -1;
        }
        if (write_argument(node, arg, index++, from))
            return -1;
    }
    return 0;
}

static int use_image(struct module *m)
{
    if (m->image_in_call != SIZE_MAX)
        return 0;
    for (size_t i = 0; i < capture.n_modules; i++) {
        const struct module *other = capture.modules[i];
        if (other != m && other->image_in_call != SIZE_MAX && other->size == m->size &&
            !memcmp(other->image, m->image, m->size)) {
            capture_refuse("ambiguous_kernel", "Load each module once.",
                           "The same code was loaded twice, and kernels of both are used.");
            return -1;
        }
    }
    m->image_in_call = recording_add_image(capture.recording, "amdgpu", "", m->image, m->size);
    if (m->image_in_call == SIZE_MAX) {
        capture_refuse("recording_too_large", "Put kernels into fewer modules.",
                       "The call uses more code than can be recorded.");
        return -1;
    }
    return 0;
}

/* What of a kernel's work is done by threads of the process that launches it, or by queues that nobody sees. */
static bool needs_host(const struct function *f)
{
    const char *what = f->kernel->calls_host  ? "calls the host (printf, assert)"
                       : f->kernel->allocates ? "allocates memory"
                       : f->kernel->launches  ? "launches kernels"
                                              : NULL;
    if (what)
        capture_refuse("unsupported_call", "Do without it in code that is graded.",
                       "Kernel %.200s %s, which has no place in a recording.", f->name, what);
    return what != NULL;
}

/* What a kernel keeps for the next replay where it cannot be put back. */
static bool keeps_state(const struct function *f)
{
    bool kept = code_object_hides_state(f->module->object);
    if (kept)
        capture_refuse("hidden_state",
                       "Make such a variable one that others can find (without `static`), or use "
                       "memory from hipMalloc: both are put back before each replay.",
                       "The module of kernel %.200s has a variable that it can write and nobody "
                       "else can find.",
                       f->name);
    return kept;
}

/* Whether a block of the launch fits on the device.  The recorder has to ask: it launches nothing. */
static bool fits(const struct function *f, const uint32_t grid[3], const uint32_t block[3],
                 uint32_t shared_bytes)
{
    uint64_t threads = 1;
    int shared = 0;
    for (size_t i = 0; i < 3; i++)
        threads = block[i] && threads <= MAX_THREADS ? threads * block[i] : MAX_THREADS + 1;
    if (!grid[0] || !grid[1] || !grid[2] ||
        threads > (f->kernel->max_threads ? f->kernel->max_threads : MAX_THREADS))
        return false;
    if (hip.hipDeviceGetAttribute(&shared, HIP_ATTRIBUTE_SHARED_PER_BLOCK, 0) != HIP_SUCCESS ||
        shared < MIN_SHARED)
        return true;
    return (uint64_t)f->kernel->shared_bytes + shared_bytes <= (uint64_t)shared;
}

hip_error node_kernel(struct stream *stream, struct function *f, const uint32_t grid[3],
                      const uint32_t block[3], uint32_t shared_bytes, void **parameters,
                      void **extra)
{
    capture.launches++;
    hip_error result = function_load(f);
    if (result != HIP_SUCCESS)
        return result;
    if (!fits(f, grid, block, shared_bytes)) {
        capture_refuse("launch_failed",
                       "Check grid, block and shared memory against the device's limits.",
                       "Kernel %.200s cannot be launched with a grid of %ux%ux%u, a block of "
                       "%ux%ux%u and %u bytes of LDS beside its own %u.",
                       f->name, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                       shared_bytes, f->kernel->shared_bytes);
        return HIP_ERROR_INVALID_CONFIGURATION;
    }
    if (needs_host(f) || keeps_state(f))
        return HIP_ERROR_NOT_SUPPORTED;
    struct recording_node *node = add_node(stream, NODE_KERNEL);
    if (!node || use_image(f->module))
        return node ? HIP_ERROR_NOT_SUPPORTED : HIP_SUCCESS;
    node->image = f->module->image_in_call;
    node->name = strdup(f->name);
    if (!node->name) {
        capture_refuse("out_of_memory", "", "No memory for a kernel's name.");
        return HIP_ERROR_OUT_OF_MEMORY;
    }
    node->work_dim = 3;
    for (size_t i = 0; i < 3; i++) {
        node->grid[i] = grid[i];
        node->block[i] = block[i];
    }
    node->shared_bytes = shared_bytes;
    return write_arguments(node, f->kernel, parameters, extra) || stream_add_edges(stream)
               ? HIP_ERROR_INVALID_VALUE
               : HIP_SUCCESS;
}

static int check_range(uint64_t address, uint64_t bytes, const char *what)
{
    if (arena_holds(&capture.arena, address, bytes))
        return 0;
    capture_refuse("pointer_outside_arena",
                   "Copy and fill the task's buffers, or memory from hipMalloc.",
                   "A %s of %llu bytes reaches memory that is not the candidate's on the device.",
                   what, (unsigned long long)bytes);
    return -1;
}

hip_error node_copy(struct stream *stream, uint64_t to, uint64_t from, uint64_t bytes)
{
    if (bytes == 0)
        return HIP_SUCCESS;
    if (check_range(to, bytes, "copy") || check_range(from, bytes, "copy"))
        return HIP_ERROR_INVALID_VALUE;
    struct recording_node *node = add_node(stream, NODE_COPY);
    if (!node)
        return HIP_SUCCESS;
    node->to_offset = arena_to_recording(&capture.arena, to);
    node->from_offset = arena_to_recording(&capture.arena, from);
    node->bytes = bytes;
    return stream_add_edges(stream) ? HIP_ERROR_NOT_SUPPORTED : HIP_SUCCESS;
}

hip_error node_fill(struct stream *stream, uint64_t to, uint32_t value, uint32_t value_bytes,
                    uint64_t bytes)
{
    if (bytes == 0)
        return HIP_SUCCESS;
    if (check_range(to, bytes, "fill"))
        return HIP_ERROR_INVALID_VALUE;
    struct recording_node *node = add_node(stream, NODE_FILL);
    if (!node)
        return HIP_SUCCESS;
    node->to_offset = arena_to_recording(&capture.arena, to);
    node->bytes = bytes;
    node->pattern_bytes = value_bytes;
    memcpy(node->pattern, &value, value_bytes);
    return stream_add_edges(stream) ? HIP_ERROR_NOT_SUPPORTED : HIP_SUCCESS;
}
