/*
 * The replayer of the OpenCL device.
 *
 * The arena is a memory file whose buffers are handed to OpenCL with CL_MEM_USE_HOST_PTR, so a CPU device works in it in
 * place and the judge sees what was computed.  A call is rebuilt as a command buffer from the recorded program
 * source, with a fresh kernel per command (arguments are read when the buffer runs, not when it is recorded).
 *
 * One sample:  user event <- marker A <- command buffer <- marker B, all enqueued before the user event opens
 * the gate, so that no enqueueing lies between the markers.  Time is the device's own clock: end of B - end of A.  The floor
 * is the same without the command buffer.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "../../replay/worker.h"
#include "../shared/host_inputs.h"
#include "ceilings.h"
#include "confine.h"
#include "kernel_cache.h"
#include "pick.h"
#include "stray.h"

struct workspace {
    uint8_t *memory;         /* what the buffer lives in */
    const uint8_t *contents; /* at capture; NULL: zeros. Belongs to the recording. */
    size_t bytes;
    cl_mem buffer;
};

struct state {
    struct pick pick;
    const struct task *task;
    uint8_t *arena; /* a guard page lies before it */
    uint64_t arena_bytes;
    const uint8_t *inputs; /* where a foreign task's are made; NULL: they are drawn here */
    uint64_t inputs_bytes;

    /* of the recording */
    cl_program *programs; /* by image; NULL: not built yet */
    size_t n_programs;

    /* of the loaded call */
    struct layout layout;
    cl_mem parameters[TASK_MAX_PARAMS]; /* by index in the task */
    struct workspace *workspaces;
    size_t n_workspaces;
    cl_kernel *kernels;
    size_t n_kernels;
    cl_command_buffer_khr commands;

    struct stray stray;

    clCreateCommandBufferKHR_fn create;
    clReleaseCommandBufferKHR_fn release;
    clFinalizeCommandBufferKHR_fn finalize;
    clEnqueueCommandBufferKHR_fn enqueue;
    clCommandNDRangeKernelKHR_fn kernel;
    clCommandCopyBufferKHR_fn copy;
    clCommandFillBufferKHR_fn fill;
};

static int resolve(struct state *s, kgrade_error *err)
{
    const struct {
        const char *name;
        void *slot;
    } functions[] = {
        {"clCreateCommandBufferKHR", &s->create},     {"clReleaseCommandBufferKHR", &s->release},
        {"clFinalizeCommandBufferKHR", &s->finalize}, {"clEnqueueCommandBufferKHR", &s->enqueue},
        {"clCommandNDRangeKernelKHR", &s->kernel},    {"clCommandCopyBufferKHR", &s->copy},
        {"clCommandFillBufferKHR", &s->fill}};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *f = clGetExtensionFunctionAddressForPlatform(s->pick.platform, functions[i].name);
        if (!f)
            return fail(err, "device_failed", "Use an OpenCL platform with cl_khr_command_buffer.",
                        "The OpenCL platform lacks %s.", functions[i].name);
        memcpy(functions[i].slot, &f, sizeof f);
    }
    return 0;
}

static int make_arena(struct state *s, uint64_t bytes, int *ret_fd, kgrade_error *err)
{
    cleanup_close int fd = memfd_create("kgrade-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
        return fail_errno(err, "arena_failed", NULL, "The arena of %llu bytes could not be made",
                          (unsigned long long)bytes);
    uint8_t *reserved =
        mmap(NULL, bytes + LAYOUT_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED || mmap(reserved + LAYOUT_PAGE, bytes, PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
        return fail_errno(err, "arena_failed", NULL, "The arena could not be mapped");
    s->arena = reserved + LAYOUT_PAGE;
    s->arena_bytes = bytes;
    *ret_fd = steal_fd(&fd);
    return 0;
}

static json_t *text_info(const struct state *s, cl_device_info what)
{
    char text[256] = "";
    clGetDeviceInfo(s->pick.device, what, sizeof text - 1, text, NULL);
    return json_string(text);
}

static struct state replayer;

static int start_device(kgrade_error *err)
{
    return pick_open(&replayer.pick, err) || resolve(&replayer, err) ? -1 : 0;
}

static int open_device(const struct task *task, uint64_t arena_bytes, int shared_fd,
                       void **ret_state, json_t **ret_info, int *ret_arena_fd, kgrade_error *err)
{
    (void)shared_fd; /* every replayer here has an arena of its own */
    struct state *s = &replayer;
    s->task = task;
    if (make_arena(s, arena_bytes, ret_arena_fd, err))
        return -1;
    char platform[256] = "";
    size_t resolution = 0;
    cl_uint units = 0;
    clGetPlatformInfo(s->pick.platform, CL_PLATFORM_VERSION, sizeof platform - 1, platform, NULL);
    clGetDeviceInfo(s->pick.device, CL_DEVICE_PROFILING_TIMER_RESOLUTION, sizeof resolution,
                    &resolution, NULL);
    clGetDeviceInfo(s->pick.device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    *ret_info = json_pack("{s:o, s:o, s:s, s:I, s:I, s:s, s:s, s:s}", "hardware",
                          text_info(s, CL_DEVICE_NAME), "driver", text_info(s, CL_DRIVER_VERSION),
                          "platform", platform, "compute_units", (json_int_t)units, "resolution_ns",
                          (json_int_t)(resolution ? resolution : 1), "cache", "warm", "timer",
                          "device profiling clock, between markers", "replay", "separate-process");
    *ret_state = s;
    return *ret_info ? 0
                     : fail(err, "device_failed", NULL, "The device's description is not UTF-8.");
}

static void unload(struct state *s)
{
    if (s->commands)
        s->release(s->commands);
    s->commands = NULL;
    for (size_t i = 0; i < s->n_kernels; i++)
        clReleaseKernel(s->kernels[i]);
    free(s->kernels);
    s->kernels = NULL;
    s->n_kernels = 0;
    for (size_t i = 0; i < TASK_MAX_PARAMS; i++) {
        if (s->parameters[i])
            clReleaseMemObject(s->parameters[i]);
        s->parameters[i] = NULL;
    }
    for (size_t i = 0; i < s->n_workspaces; i++) {
        if (s->workspaces[i].buffer)
            clReleaseMemObject(s->workspaces[i].buffer);
        free(s->workspaces[i].memory);
    }
    free(s->workspaces);
    s->workspaces = NULL;
    s->n_workspaces = 0;
}

static cl_mem wrap(struct state *s, void *memory, uint64_t bytes, kgrade_error *err)
{
    cl_int code;
    /* OpenCL has no buffers of size 0; the byte is canary. */
    cl_mem buffer = clCreateBuffer(s->pick.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                   bytes ? (size_t)bytes : 1, memory, &code);
    if (!buffer)
        fail(err, "device_failed", NULL, "clCreateBuffer failed with %s (%d).",
             pick_error_name(code), code);
    return buffer;
}

static int make_parameters(struct state *s, kgrade_error *err)
{
    if (s->layout.bytes > s->arena_bytes)
        return fail(err, "arena_failed", NULL, "The case is larger than the arena.");
    if (mprotect(s->arena, s->arena_bytes, PROT_READ | PROT_WRITE))
        return fail_errno(err, "arena_failed", NULL, "The arena could not be made writable");
    for (size_t i = 0; i < s->layout.n_buffers; i++) {
        const struct layout_buffer *b = &s->layout.buffers[i];
        s->parameters[b->param] = wrap(s, s->arena + b->offset, b->bytes, err);
        if (!s->parameters[b->param])
            return -1;
        if (mprotect(s->arena + b->offset + b->bytes + b->canary, LAYOUT_PAGE, PROT_NONE))
            return fail_errno(err, "arena_failed", NULL, "A guard page could not be made");
    }
    return 0;
}

static int make_workspaces(struct state *s, const struct recording *r,
                           const struct recording_call *call, kgrade_error *err)
{
    uint64_t total = 0;
    s->workspaces = calloc(call->n_buffers + 1, sizeof *s->workspaces);
    if (!s->workspaces)
        return fail(err, "out_of_memory", NULL, "No memory for the workspace.");
    for (size_t i = 0; i < call->n_buffers; i++) {
        const struct recording_buffer *b = &call->buffers[i];
        struct workspace *w = &s->workspaces[s->n_workspaces];
        total += b->bytes;
        if (total > s->task->workspace_bytes)
            return fail(
                err, "recording_invalid", "Use less memory, or raise the task's workspace_bytes.",
                "The call's own buffers are larger than the task's workspace of %llu bytes.",
                (unsigned long long)s->task->workspace_bytes);
        w->bytes = (size_t)b->bytes;
        w->contents = b->has_contents ? r->blobs[b->blob].data : NULL;
        w->memory =
            aligned_alloc(LAYOUT_PAGE, (w->bytes + LAYOUT_PAGE) / LAYOUT_PAGE * LAYOUT_PAGE);
        if (!w->memory)
            return fail(err, "out_of_memory", NULL, "No memory for the workspace.");
        s->n_workspaces++;
        w->buffer = wrap(s, w->memory, b->bytes, err);
        if (!w->buffer)
            return -1;
    }
    return 0;
}

static int build_image(struct state *s, const struct recording *r, size_t index, kgrade_error *err)
{
    if (!s->programs) {
        s->programs = calloc(r->n_images, sizeof(cl_program));
        if (!s->programs)
            return fail(err, "out_of_memory", NULL, "No memory for programs.");
        s->n_programs = r->n_images;
    }
    if (s->programs[index])
        return 0;
    const struct recording_image *image = &r->images[index];
    if (strcmp(image->kind, "opencl-c"))
        return fail(err, "recording_invalid", REPLAY_INVALID_HINT,
                    "An image is not OpenCL C source.");
    const char *text = (const char *)r->blobs[image->blob].data;
    size_t length = r->blobs[image->blob].size;
    if (length == 0) /* which OpenCL takes for a text that ends with NUL */
        return fail(err, "recording_invalid", REPLAY_INVALID_HINT, "An image is empty.");
    cl_int code;
    cl_program program = clCreateProgramWithSource(s->pick.context, 1, &text, &length, &code);
    if (program)
        code = clBuildProgram(program, 1, &s->pick.device, image->options, NULL, NULL);
    if (!program || code) {
        if (program)
            clReleaseProgram(program);
        return fail(err, "recording_invalid", REPLAY_INVALID_HINT,
                    "A recorded program does not build: %s (%d).", pick_error_name(code), code);
    }
    s->programs[index] = program;
    return 0;
}

static cl_mem find_buffer(const struct state *s, size_t index)
{
    return index < s->task->n_params ? s->parameters[index]
                                     : s->workspaces[index - s->task->n_params].buffer;
}

static int set_args(struct state *s, cl_kernel kernel, const struct recording_node *node,
                    kgrade_error *err)
{
    for (size_t i = 0; i < node->n_args; i++) {
        const struct recording_arg *a = &node->args[i];
        cl_mem buffer = NULL;
        const void *value = a->bytes;
        size_t size = a->size;
        if (a->kind == ARG_VARIABLE)
            return fail(err, "recording_invalid", REPLAY_INVALID_HINT,
                        "Argument %zu of kernel \"%s\" is the address of a variable.", i,
                        node->name);
        if (a->kind == ARG_LOCAL) {
            value = NULL;
        } else if (a->kind == ARG_BUFFER) {
            buffer = find_buffer(s, a->buffer);
            value = &buffer;
            size = sizeof buffer;
        }
        cl_int code = clSetKernelArg(kernel, (cl_uint)i, size, value);
        if (code)
            return fail(err, "recording_invalid", REPLAY_INVALID_HINT,
                        "Argument %zu of kernel \"%s\" does not fit: %s (%d).", i, node->name,
                        pick_error_name(code), code);
    }
    return 0;
}

static int add_kernel(struct state *s, const struct recording *r, const struct recording_node *node,
                      kgrade_error *err)
{
    cl_int code;
    if (build_image(s, r, node->image, err))
        return -1;
    cl_kernel kernel = clCreateKernel(s->programs[node->image], node->name, &code);
    if (!kernel)
        return fail(err, "recording_invalid", REPLAY_INVALID_HINT,
                    "The recorded program has no kernel \"%s\".", node->name);
    s->kernels[s->n_kernels++] = kernel;
    if (set_args(s, kernel, node, err))
        return -1;
    size_t global[3], local[3], offset[3];
    for (size_t i = 0; i < 3; i++) {
        global[i] = (size_t)node->grid[i];
        local[i] = (size_t)node->block[i];
        offset[i] = (size_t)node->offset[i];
    }
    code = s->kernel(s->commands, NULL, NULL, kernel, node->work_dim, offset, global,
                     local[0] ? local : NULL, 0, NULL, NULL, NULL);
    return code ? fail(err, "recording_invalid", "Check the launch sizes.",
                       "Kernel \"%s\" cannot be launched as recorded: %s (%d).", node->name,
                       pick_error_name(code), code)
                : 0;
}

static int add_node(struct state *s, const struct recording *r, const struct recording_node *node,
                    kgrade_error *err)
{
    cl_int code = CL_SUCCESS;
    switch (node->kind) {
    case NODE_KERNEL:
        return add_kernel(s, r, node, err);
    case NODE_COPY:
        code = s->copy(s->commands, NULL, find_buffer(s, node->from_buffer),
                       find_buffer(s, node->to_buffer), (size_t)node->from_offset,
                       (size_t)node->to_offset, (size_t)node->bytes, 0, NULL, NULL, NULL);
        break;
    case NODE_FILL:
        code = s->fill(s->commands, NULL, find_buffer(s, node->to_buffer), node->pattern,
                       node->pattern_bytes, (size_t)node->to_offset, (size_t)node->bytes, 0, NULL,
                       NULL, NULL);
        break;
    case NODE_EMPTY:
        break;
    }
    return code ? fail(err, "recording_invalid", REPLAY_INVALID_HINT,
                       "A recorded command cannot be replayed: %s (%d).", pick_error_name(code),
                       code)
                : 0;
}

static int load(void *state, const struct recording *r, const struct recording_call *call,
                const struct layout *layout, kgrade_error *err)
{
    struct state *s = state;
    unload(s);
    stray_forget(&s->stray);
    s->layout = *layout;
    s->kernels = calloc(call->n_nodes + 1, sizeof(cl_kernel));
    if (!s->kernels)
        return fail(err, "out_of_memory", NULL, "No memory for kernels.");
    if (make_parameters(s, err) || make_workspaces(s, r, call, err))
        return -1;
    cl_int code;
    s->commands = s->create(1, &s->pick.queue, NULL, &code);
    if (!s->commands)
        return fail(err, "device_failed", NULL, "clCreateCommandBufferKHR failed with %s (%d).",
                    pick_error_name(code), code);
    /* Nodes are in the order in which they were enqueued, and the queue is in order. */
    for (size_t i = 0; i < call->n_nodes; i++)
        if (add_node(s, r, &call->nodes[i], err))
            return -1;
    code = s->finalize(s->commands);
    return code
               ? fail(err, "device_failed", NULL, "clFinalizeCommandBufferKHR failed with %s (%d).",
                      pick_error_name(code), code)
               : 0;
}

static int feed(void *state, const uint8_t *inputs, uint64_t bytes, kgrade_error *err)
{
    struct state *s = state;
    if (!inputs)
        return fail(err, "wire_invalid", NULL, "Inputs come from a file here.");
    s->inputs = inputs;
    s->inputs_bytes = bytes;
    return 0;
}

static int prepare(void *state, uint64_t seed, uint64_t poison, bool cold, kgrade_error *err)
{
    (void)cold; /* a CPU queue offers no clean way to evict; results say "warm" */
    struct state *s = state;
    if (s->inputs && s->layout.bytes > s->inputs_bytes)
        return fail(err, "arena_failed", NULL, "The case is larger than what its inputs lie in.");
    if (s->inputs)
        host_inputs_copy(s->task, &s->layout, s->arena, s->inputs, poison);
    else
        host_inputs_fill(s->task, &s->layout, s->arena, seed, poison);
    for (size_t i = 0; i < s->n_workspaces; i++) {
        struct workspace *w = &s->workspaces[i];
        if (w->contents)
            memcpy(w->memory, w->contents, w->bytes);
        else
            memset(w->memory, 0, w->bytes);
    }
    return 0;
}

static void release_event(cl_event *event)
{
    if (*event)
        clReleaseEvent(*event);
}
#define cleanup_event __attribute__((cleanup(release_event)))

static int run(void *state, bool empty, struct replay_sample *ret, kgrade_error *err)
{
    struct state *s = state;
    cl_int code;
    bool stray = false;
    cleanup_event cl_event gate = clCreateUserEvent(s->pick.context, &code);
    cleanup_event cl_event first = NULL, work = NULL, last = NULL;
    if (!gate)
        return fail(err, "device_failed", NULL, "clCreateUserEvent failed with %s (%d).",
                    pick_error_name(code), code);
    code = clEnqueueMarkerWithWaitList(s->pick.queue, 1, &gate, &first);
    if (!code && !empty)
        code = s->enqueue(0, NULL, s->commands, 0, NULL, &work);
    if (!code)
        code = clEnqueueMarkerWithWaitList(s->pick.queue, 0, NULL, &last);
    if (!code)
        code = clFlush(s->pick.queue);
    int strayed = stray_look(&s->stray, &stray, &ret->left_ns, err);
    /* The gate is opened in any case: nothing may stay behind it. */
    cl_int opened = clSetUserEventStatus(gate, CL_COMPLETE);
    cl_int finished = clFinish(s->pick.queue);
    stray_expect_none(&s->stray);
    if (strayed)
        return -1;
    cl_int status = CL_COMPLETE;
    if (!code && work)
        clGetEventInfo(work, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    if (code || opened || finished || status < 0) {
        cl_int cause = code ? code : opened ? opened : finished ? finished : status;
        return fail(err, "kernel_failed", "Check index ranges and launch sizes.",
                    "The replay failed on the device with %s (%d).", pick_error_name(cause), cause);
    }
    cl_ulong start = 0, end = 0;
    code = clGetEventProfilingInfo(first, CL_PROFILING_COMMAND_END, sizeof start, &start, NULL);
    if (!code)
        code = clGetEventProfilingInfo(last, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    if (code)
        return fail(err, "device_failed", NULL, "Reading the clock failed with %s (%d).",
                    pick_error_name(code), code);
    ret->ns = end > start ? end - start : 0;
    ret->is_void = end <= start || stray;
    return 0;
}

static json_t *ceilings(void *state, kgrade_error *err)
{
    struct state *s = state;
    return ceilings_measure(&s->pick, err);
}

/* Where the runtime keeps compiled kernels. */
static const char *cache_folder(void)
{
    const char *folder = getenv("POCL_CACHE_DIR");
    return folder ? folder : "/tmp/pocl";
}

static int pack(void *state, struct bytes *ret, kgrade_error *err)
{
    (void)state;
    return kernel_cache_pack(cache_folder(), ret, err);
}

static int confine_device(void *state, const struct bytes *code, kgrade_error *err)
{
    struct state *s = state;
    return kernel_cache_unpack(cache_folder(), code, err) || stray_watch(&s->stray, err) ||
                   confine(err)
               ? -1
               : 0;
}

static void close_device(void *state)
{
    struct state *s = state;
    unload(s);
    for (size_t i = 0; i < s->n_programs; i++)
        if (s->programs[i])
            clReleaseProgram(s->programs[i]);
    free(s->programs);
    pick_close(&s->pick);
}

int main(void)
{
    static const struct replay_device device = {.name = "opencl",
                                                .start = start_device,
                                                .open = open_device,
                                                .load = load,
                                                .feed = feed,
                                                .prepare = prepare,
                                                .run = run,
                                                .ceilings = ceilings,
                                                .pack = pack,
                                                .confine = confine_device,
                                                .close = close_device};
    return replay_worker_main(&device);
}
