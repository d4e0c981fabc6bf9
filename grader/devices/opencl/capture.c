#define _GNU_SOURCE
#include "capture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/fail.h"

struct capture capture_state = {.lock = PTHREAD_MUTEX_INITIALIZER};

void capture_refuse(const char *code, const char *hint, const char *format, ...)
{
    kgrade_error *r = &capture_state.refusal;
    if (r->code[0])
        return;
    va_list ap;
    va_start(ap, format);
    fail_set_v(r, code, hint, format, ap);
    va_end(ap);
}

static void too_many(const char *what)
{
    capture_refuse(CAPTURE_TOO_MANY_OBJECTS,
                   "Create objects once, at the first call, and keep them.",
                   "The candidate keeps more than %d OpenCL %s.", CAPTURE_MAX_OBJECTS, what);
}

struct tracked_program *capture_find_program(cl_program handle)
{
    for (size_t i = 0; i < capture_state.n_programs; i++)
        if (capture_state.programs[i]->handle == handle)
            return capture_state.programs[i];
    return NULL;
}

struct tracked_kernel *capture_find_kernel(cl_kernel handle)
{
    for (size_t i = 0; i < capture_state.n_kernels; i++)
        if (capture_state.kernels[i]->handle == handle)
            return capture_state.kernels[i];
    return NULL;
}

struct tracked_buffer *capture_find_buffer(cl_mem handle)
{
    for (size_t i = 0; i < capture_state.n_buffers; i++)
        if (capture_state.buffers[i].handle == handle)
            return &capture_state.buffers[i];
    return NULL;
}

static void free_program(struct tracked_program *p)
{
    free(p->source);
    free(p->options);
    free(p);
}

void capture_add_program(cl_program handle, const char *source)
{
    if (capture_state.n_programs == CAPTURE_MAX_OBJECTS) {
        too_many("programs");
        return;
    }
    struct tracked_program *p = calloc(1, sizeof *p);
    if (!p)
        return;
    *p = (struct tracked_program){handle, 1, strdup(source), strdup("")};
    if (p->source && p->options)
        capture_state.programs[capture_state.n_programs++] = p;
    else
        free_program(p);
}

void capture_add_kernel(cl_kernel handle, cl_program program, const char *name)
{
    if (capture_state.n_kernels == CAPTURE_MAX_OBJECTS) {
        too_many("kernels");
        return;
    }
    struct tracked_kernel *k = calloc(1, sizeof *k);
    if (!k)
        return;
    k->handle = handle;
    k->references = 1;
    k->program = capture_find_program(program);
    k->name = strdup(name);
    if (!k->name) {
        free(k);
        return;
    }
    if (k->program)
        k->program->references++;
    capture_state.kernels[capture_state.n_kernels++] = k;
}

void capture_add_buffer(cl_mem handle, uint64_t bytes, size_t param)
{
    if (capture_state.n_buffers == CAPTURE_MAX_OBJECTS) {
        too_many("buffers");
        return;
    }
    capture_state.buffers[capture_state.n_buffers++] =
        (struct tracked_buffer){handle, 1, bytes, param, SIZE_MAX};
    if (param == SIZE_MAX)
        capture_state.workspace_bytes += bytes;
}

void capture_retain_program(cl_program handle)
{
    struct tracked_program *p = capture_find_program(handle);
    if (p)
        p->references++;
}

void capture_retain_kernel(cl_kernel handle)
{
    struct tracked_kernel *k = capture_find_kernel(handle);
    if (k)
        k->references++;
}

void capture_retain_buffer(cl_mem handle)
{
    struct tracked_buffer *b = capture_find_buffer(handle);
    if (b)
        b->references++;
}

static void unref_program(struct tracked_program *p)
{
    if (--p->references > 0)
        return;
    for (size_t i = 0; i < capture_state.n_programs; i++)
        if (capture_state.programs[i] == p)
            capture_state.programs[i] = capture_state.programs[--capture_state.n_programs];
    free_program(p);
}

void capture_release_program(cl_program handle)
{
    struct tracked_program *p = capture_find_program(handle);
    if (p)
        unref_program(p);
}

void capture_release_kernel(cl_kernel handle)
{
    struct tracked_kernel *k = capture_find_kernel(handle);
    if (!k || --k->references > 0)
        return;
    for (size_t i = 0; i < capture_state.n_kernels; i++)
        if (capture_state.kernels[i] == k)
            capture_state.kernels[i] = capture_state.kernels[--capture_state.n_kernels];
    for (size_t i = 0; i < k->n_args; i++)
        free(k->args[i].bytes);
    if (k->program)
        unref_program(k->program);
    free(k->name);
    free(k);
}

void capture_release_buffer(cl_mem handle)
{
    struct tracked_buffer *b = capture_find_buffer(handle);
    if (!b || --b->references > 0)
        return;
    if (b->param == SIZE_MAX)
        capture_state.workspace_bytes -= b->bytes;
    *b = capture_state.buffers[--capture_state.n_buffers];
}

void capture_set_arg(cl_kernel handle, cl_uint index, size_t size, const void *value)
{
    struct tracked_kernel *k = capture_find_kernel(handle);
    if (!k || index >= RECORDING_MAX_ARGS || size > UINT32_MAX ||
        (value && size > RECORDING_MAX_ARG_BYTES))
        return;
    struct tracked_arg *a = &k->args[index];
    if (value && (!a->bytes || a->local || a->size != size)) {
        free(a->bytes);
        a->bytes = malloc(size ? size : 1);
        if (!a->bytes)
            return;
    }
    if (value)
        memcpy(a->bytes, value, size);
    a->local = !value;
    a->size = size;
    a->set = true;
    if (index >= k->n_args)
        k->n_args = index + 1;
}

/* The index by which a recording names a buffer. */
static size_t buffer_index(struct tracked_buffer *b)
{
    if (b->param != SIZE_MAX)
        return b->param;
    if (b->in_call == SIZE_MAX) {
        if (!recording_add_buffer(capture_state.call, b->bytes)) {
            capture_refuse("too_many_buffers", "Allocate one buffer and use parts of it.",
                           "The call uses more than %d buffers of its own.", RECORDING_MAX_BUFFERS);
            return 0;
        }
        b->in_call = capture_state.call->n_buffers - 1;
    }
    return capture_state.recording->n_params + b->in_call;
}

static int node_arg(struct recording_node *node, const struct tracked_arg *a)
{
    cl_mem handle = NULL;
    if (!a->local && a->size == sizeof handle)
        memcpy(&handle, a->bytes, sizeof handle);
    struct tracked_buffer *b = handle ? capture_find_buffer(handle) : NULL;
    struct recording_arg *arg = recording_add_arg(node, b          ? ARG_BUFFER
                                                        : a->local ? ARG_LOCAL
                                                                   : ARG_BYTES);
    if (!arg)
        return -1;
    if (b) {
        arg->buffer = buffer_index(b);
        return 0;
    }
    arg->size = (uint32_t)a->size;
    if (a->local)
        return 0;
    arg->bytes = malloc(a->size ? a->size : 1);
    if (!arg->bytes)
        return -1;
    memcpy(arg->bytes, a->bytes, a->size);
    return 0;
}

static struct recording_node *add_node(enum node_kind kind)
{
    struct recording_node *node = recording_add_node(capture_state.call, kind);
    if (!node)
        capture_refuse("too_many_nodes", "Do the work in fewer, larger kernels.",
                       "The call enqueues more than %d commands.", RECORDING_MAX_NODES);
    return node;
}

/* As the device would answer: what it does not launch is not in a recording either. */
static cl_int check_sizes(cl_uint work_dim, const size_t *global, const size_t *local,
                          bool *ret_empty)
{
    if (work_dim < 1 || work_dim > 3 || !global)
        return CL_INVALID_WORK_DIMENSION;
    size_t group = 1, most = 0;
    *ret_empty = false;
    for (cl_uint i = 0; i < work_dim; i++) {
        *ret_empty = *ret_empty || global[i] == 0;
        if (local && __builtin_mul_overflow(group, local[i], &group))
            return CL_INVALID_WORK_GROUP_SIZE;
    }
    cl_int code = clGetDeviceInfo(capture_state.pick.device, CL_DEVICE_MAX_WORK_GROUP_SIZE,
                                  sizeof most, &most, NULL);
    if (code)
        return code;
    return group == 0 || group > most ? CL_INVALID_WORK_GROUP_SIZE : CL_SUCCESS;
}

cl_int capture_kernel_node(cl_kernel handle, cl_uint work_dim, const size_t *offset,
                           const size_t *global, const size_t *local)
{
    struct tracked_kernel *k = capture_find_kernel(handle);
    struct tracked_program *p = k ? k->program : NULL;
    if (!p) {
        capture_refuse("unsupported_call", "Create programs with clCreateProgramWithSource.",
                       "The call launches a kernel whose program source is not known.");
        return CL_INVALID_KERNEL;
    }
    bool empty;
    cl_int code = check_sizes(work_dim, global, local, &empty);
    if (code || empty)
        return code;
    struct recording_node *node = add_node(NODE_KERNEL);
    if (!node)
        return CL_OUT_OF_RESOURCES;
    node->image = recording_add_image(capture_state.recording, "opencl-c", p->options, p->source,
                                      strlen(p->source));
    node->name = strdup(k->name);
    node->work_dim = work_dim;
    for (cl_uint i = 0; i < work_dim; i++) {
        node->grid[i] = global[i];
        node->block[i] = local ? local[i] : 0;
        node->offset[i] = offset ? offset[i] : 0;
    }
    for (size_t i = 0; i < k->n_args; i++) {
        if (!k->args[i].set) {
            capture_refuse("kernel_arguments",
                           "Set every argument with clSetKernelArg before enqueueing.",
                           "Argument %zu of kernel \"%s\" was not set.", i, k->name);
            return CL_INVALID_KERNEL_ARGS;
        }
        if (node_arg(node, &k->args[i]))
            return CL_OUT_OF_HOST_MEMORY;
    }
    return CL_SUCCESS;
}

static bool range_ok(const struct tracked_buffer *b, size_t offset, size_t bytes)
{
    return offset <= b->bytes && bytes <= b->bytes - offset;
}

cl_int capture_copy_node(cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t bytes)
{
    struct tracked_buffer *f = capture_find_buffer(from), *t = capture_find_buffer(to);
    if (!f || !t)
        return CL_INVALID_MEM_OBJECT;
    if (!range_ok(f, from_offset, bytes) || !range_ok(t, to_offset, bytes))
        return CL_INVALID_VALUE;
    struct recording_node *node = add_node(NODE_COPY);
    if (!node)
        return CL_OUT_OF_RESOURCES;
    node->from_buffer = buffer_index(f);
    node->to_buffer = buffer_index(t);
    node->from_offset = from_offset;
    node->to_offset = to_offset;
    node->bytes = bytes;
    return CL_SUCCESS;
}

cl_int capture_fill_node(cl_mem to, const void *pattern, size_t pattern_bytes, size_t offset,
                         size_t bytes)
{
    struct tracked_buffer *t = capture_find_buffer(to);
    if (!t)
        return CL_INVALID_MEM_OBJECT;
    struct recording_node limits;
    if (!pattern || pattern_bytes == 0 || pattern_bytes > sizeof limits.pattern ||
        !range_ok(t, offset, bytes) || offset % pattern_bytes || bytes % pattern_bytes)
        return CL_INVALID_VALUE;
    struct recording_node *node = add_node(NODE_FILL);
    if (!node)
        return CL_OUT_OF_RESOURCES;
    node->to_buffer = buffer_index(t);
    node->to_offset = offset;
    node->bytes = bytes;
    memcpy(node->pattern, pattern, pattern_bytes);
    node->pattern_bytes = (uint32_t)pattern_bytes;
    return CL_SUCCESS;
}
