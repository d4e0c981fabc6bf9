#define _GNU_SOURCE
#include "rebuild.h"

#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "../../replay/worker.h"

struct rebuild {
    struct rebuilt *to;
    const struct recording *recording;
    const struct recording_call *call;
    const struct arena *arena;
    hip_stream stream;
    size_t *order;   /* nodes, each after those that it waits for */
    hip_node *nodes; /* by node of the recording; NULL where the runtime does not tell */
    size_t
        *first; /* by node: where in `sources` those begin that it waits for; n_nodes + 1 of them */
    uint32_t *sources;
    hip_node *waits; /* room for the sources of one node */
    kgrade_error *err;
};

static int invalid(const struct rebuild *b, const char *what, size_t node)
{
    return fail(b->err, "recording_invalid", REPLAY_INVALID_HINT, "Node %zu %s.", node, what);
}

static int no_memory(kgrade_error *err)
{
    return fail(err, "out_of_memory", NULL, "No memory for a call.");
}

void rebuilt_close(struct rebuilt *r)
{
    if (r->exec)
        hip.hipGraphExecDestroy(r->exec);
    for (size_t i = 0; i < r->n_images; i++) {
        if (r->images[i].handle)
            hip.hipModuleUnload(r->images[i].handle);
        code_object_free(r->images[i].object);
    }
    free(r->images);
    *r = (struct rebuilt){0};
}

static int load_image(struct rebuild *b, size_t index)
{
    struct rebuilt_image *image = &b->to->images[index];
    const struct recording_image *from = &b->recording->images[index];
    const struct bytes *blob = &b->recording->blobs[from->blob];
    if (image->handle)
        return 0;
    if (strcmp(from->kind, "amdgpu"))
        return fail(b->err, "recording_invalid", REPLAY_INVALID_HINT,
                    "An image is not a code object.");
    kgrade_error why = {.code = ""};
    /* The runtime is told no size: it reads what the headers say, which are checked first. */
    image->object = code_object_parse(blob->data, blob->size, &why);
    if (!image->object)
        return fail(b->err, "recording_invalid", REPLAY_INVALID_HINT, "%s", why.message);
    if (!code_object_target_fits(image->object->target, hip.target))
        return fail(b->err, "recording_invalid", "Record the candidate on this kind of device.",
                    "An image is for %s, not for %s.", image->object->target, hip.target);
    hip_error result = hip.hipModuleLoadData(&image->handle, blob->data);
    return result == HIP_SUCCESS
               ? 0
               : runtime_fail(b->err, "recording_invalid", result, "Loading a recorded image");
}

/* The packed block that a launch would make, checked against what the kernel declares, as one pointer for each argument. */
static int make_arguments(const struct rebuild *b, const struct recording_node *node, size_t index,
                          const struct code_object_kernel *kernel, uint8_t *block, void **pointers)
{
    size_t n = 0;
    for (size_t i = 0; i < kernel->n_args; i++) {
        const struct code_object_arg *arg = &kernel->args[i];
        if (arg->kind == CODE_ARG_HIDDEN)
            continue;
        if (arg->kind != CODE_ARG_VALUE && arg->kind != CODE_ARG_BUFFER)
            return invalid(b, "launches a kernel with an argument that is no value", index);
        if (n == node->n_args || node->args[n].kind != ARG_BYTES ||
            node->args[n].offset != arg->offset || node->args[n].size != arg->size ||
            arg->offset > RECORDING_MAX_ARG_BYTES ||
            arg->size > RECORDING_MAX_ARG_BYTES - arg->offset)
            return invalid(b, "has other arguments than its kernel declares", index);
        uint8_t *at = block + arg->offset;
        memcpy(at, node->args[n].bytes, arg->size);
        if (arg->kind == CODE_ARG_BUFFER && arg->size == sizeof(uint64_t)) {
            uint64_t address;
            memcpy(&address, at, sizeof address);
            address = arena_from_recording(b->arena, address);
            memcpy(at, &address, sizeof address);
        } else if (!arena_is_home(b->arena) &&
                   arena_could_point(at, arg->size, ARENA_HOME, b->arena->bytes)) {
            return fail(b->err, "recording_invalid",
                        "Replay where memory can be mapped at a chosen address: ROCm 6 or later.",
                        "An argument of node %zu is a value that holds a pointer.", index);
        }
        pointers[n++] = at;
    }
    return n == node->n_args ? 0 : invalid(b, "has more arguments than its kernel declares", index);
}

/* What the graph holds must be what was launched: versions are known that lose the last argument. */
static int check_arguments(const struct rebuild *b, size_t index, hip_node node,
                           const struct recording_node *from, void **pointers)
{
    hip_kernel_node got = {.parameters = NULL};
    hip_error result = hip.hipGraphKernelNodeGetParams(node, &got);
    if (result != HIP_SUCCESS)
        return runtime_fail(b->err, "device_failed", result, "Reading a captured node");
    bool same = got.grid.x == from->grid[0] && got.grid.y == from->grid[1] &&
                got.grid.z == from->grid[2] && got.block.x == from->block[0] &&
                got.block.y == from->block[1] && got.block.z == from->block[2] &&
                got.shared_bytes == from->shared_bytes;
    for (size_t i = 0; same && got.parameters && i < from->n_args; i++)
        same = got.parameters[i] && !memcmp(got.parameters[i], pointers[i], from->args[i].size);
    return same ? 0
                : fail(b->err, "runtime_wrong_graph", "Install another version of ROCm.",
                       "The graph that HIP's library has captured launches node %zu, %.200s, with "
                       "something else than it was given.",
                       index, from->name);
}

static int queue_kernel(struct rebuild *b, const struct recording_node *node, size_t index)
{
    cleanup_free uint8_t *block = calloc(1, RECORDING_MAX_ARG_BYTES + 1);
    cleanup_free void **pointers = calloc(RECORDING_MAX_ARGS + 1, sizeof *pointers);
    hip_function function;
    if (!block || !pointers)
        return no_memory(b->err);
    const struct rebuilt_image *image = &b->to->images[node->image];
    const struct code_object_kernel *kernel = code_object_kernel(image->object, node->name);
    if (!kernel || hip.hipModuleGetFunction(&function, image->handle, node->name) != HIP_SUCCESS)
        return invalid(b, "launches a kernel that its image does not have", index);
    if (kernel->calls_host || kernel->allocates || kernel->launches)
        return invalid(b, "launches a kernel that needs the host", index);
    if (code_object_hides_state(image->object))
        return invalid(b, "launches a kernel whose variables cannot be put back", index);
    if (node->n_attributes || node->offset[0] || node->offset[1] || node->offset[2])
        return invalid(b, "has settings that HIP's launches do not have", index);
    if (make_arguments(b, node, index, kernel, block, pointers))
        return -1;
    hip_error result = hip.hipModuleLaunchKernel(
        function, (unsigned)node->grid[0], (unsigned)node->grid[1], (unsigned)node->grid[2],
        (unsigned)node->block[0], (unsigned)node->block[1], (unsigned)node->block[2],
        node->shared_bytes, b->stream, pointers, NULL);
    if (result != HIP_SUCCESS)
        return runtime_fail(b->err, "recording_invalid", result, "Launching a recorded kernel");
    return 0;
}

static int queue_copy(struct rebuild *b, const struct recording_node *node, size_t index)
{
    uint64_t to = arena_from_recording(b->arena, node->to_offset),
             from = arena_from_recording(b->arena, node->from_offset);
    /* Of nothing the library makes no node. */
    if (node->from_buffer != SIZE_MAX || node->to_buffer != SIZE_MAX || node->rows != 1 ||
        node->bytes == 0 || !arena_holds(b->arena, to, node->bytes) ||
        !arena_holds(b->arena, from, node->bytes))
        return invalid(b, "copies what is not in the arena", index);
    hip_error result =
        hip.hipMemcpyAsync((void *)(uintptr_t)to, (const void *)(uintptr_t)from,
                           (size_t)node->bytes, HIP_COPY_DEVICE_TO_DEVICE, b->stream);
    return result == HIP_SUCCESS
               ? 0
               : runtime_fail(b->err, "recording_invalid", result, "Queueing a recorded copy");
}

static int queue_fill(struct rebuild *b, const struct recording_node *node, size_t index)
{
    uint64_t to = arena_from_recording(b->arena, node->to_offset);
    uint32_t value = 0;
    uint32_t unit = node->pattern_bytes;
    if (node->to_buffer != SIZE_MAX || node->rows != 1 || (unit != 1 && unit != 2 && unit != 4) ||
        node->bytes == 0 || node->bytes % unit || to % unit ||
        !arena_holds(b->arena, to, node->bytes))
        return invalid(b, "fills what is not in the arena", index);
    memcpy(&value, node->pattern, unit);
    void *at = (void *)(uintptr_t)to;
    size_t n = (size_t)(node->bytes / unit);
    hip_error result = unit == 1   ? hip.hipMemsetAsync(at, (int)value, n, b->stream)
                       : unit == 2 ? hip.hipMemsetD16Async(at, (unsigned short)value, n, b->stream)
                                   : hip.hipMemsetD32Async(at, (int)value, n, b->stream);
    return result == HIP_SUCCESS
               ? 0
               : runtime_fail(b->err, "recording_invalid", result, "Queueing a recorded fill");
}

/* What the next operation waits for. */
static int set_waits(struct rebuild *b, size_t index)
{
    size_t n = 0;
    for (size_t i = b->first[index]; i < b->first[index + 1]; i++)
        b->waits[n++] = b->nodes[b->sources[i]];
    RUNTIME_TRY(b->err, hip.hipStreamUpdateCaptureDependencies(b->stream, b->waits, n,
                                                               HIP_SET_CAPTURE_DEPENDENCIES));
    return 0;
}

/* The node that the last operation has become. */
static int note_node(struct rebuild *b, size_t index)
{
    int status = HIP_CAPTURE_NONE;
    const hip_node *last = NULL;
    size_t n = 0;
    RUNTIME_TRY(b->err, hip.hipStreamGetCaptureInfo_v2(b->stream, &status, NULL, NULL, &last, &n));
    if (status != HIP_CAPTURE_ACTIVE || n != 1)
        return fail(b->err, "device_failed", NULL,
                    "HIP's library did not capture node %zu as one node.", index);
    b->nodes[index] = last[0];
    return 0;
}

static int queue_node(struct rebuild *b, size_t index)
{
    const struct recording_node *node = &b->call->nodes[index];
    switch (node->kind) {
    case NODE_KERNEL:
        return queue_kernel(b, node, index);
    case NODE_COPY:
        return queue_copy(b, node, index);
    case NODE_FILL:
        return queue_fill(b, node, index);
    case NODE_EMPTY:
        break;
    }
    return invalid(b, "is of a kind that HIP calls do not make", index);
}

static int queue_nodes(struct rebuild *b)
{
    for (size_t i = 0; i < b->call->n_nodes; i++) {
        size_t index = b->order[i];
        if ((hip.has_edges && set_waits(b, index)) || queue_node(b, index) ||
            (hip.has_edges && note_node(b, index)))
            return -1;
    }
    return 0;
}

/* The edges by the nodes that they lead to. */
static void sort_edges(struct rebuild *b)
{
    const struct recording_call *call = b->call;
    for (size_t i = 0; i < call->n_edges; i++)
        b->first[call->edges[i].to + 1]++;
    for (size_t i = 0; i < call->n_nodes; i++)
        b->first[i + 1] += b->first[i];
    /* From the back of each node's part to its front, which leaves the ends as they are. */
    for (size_t i = call->n_edges; i-- > 0;)
        b->sources[--b->first[call->edges[i].to + 1]] = call->edges[i].from;
    memmove(b->first, b->first + 1, call->n_nodes * sizeof *b->first);
    b->first[call->n_nodes] = call->n_edges;
}

/* Each node after those that it waits for: recordings may have them in any order. */
static int sort_nodes(struct rebuild *b)
{
    const struct recording_call *call = b->call;
    cleanup_free bool *placed = calloc(call->n_nodes + 1, sizeof *placed);
    size_t done = 0;
    if (!placed)
        return no_memory(b->err);
    while (done < call->n_nodes) {
        size_t before = done;
        for (size_t i = 0; i < call->n_nodes; i++) {
            bool ready = !placed[i];
            for (size_t k = b->first[i]; ready && k < b->first[i + 1]; k++)
                ready = placed[b->sources[k]];
            if (!ready)
                continue;
            placed[i] = true;
            b->order[done++] = i;
        }
        if (done == before)
            return fail(b->err, "recording_invalid", REPLAY_INVALID_HINT,
                        "The call's nodes wait for each other.");
    }
    return 0;
}

/* After the capture: as many nodes as were queued, and the kernels with what they were given. */
static int check_graph(struct rebuild *b, hip_graph graph)
{
    cleanup_free uint8_t *block = calloc(1, RECORDING_MAX_ARG_BYTES + 1);
    cleanup_free void **pointers = calloc(RECORDING_MAX_ARGS + 1, sizeof *pointers);
    size_t n = 0;
    if (!block || !pointers)
        return no_memory(b->err);
    RUNTIME_TRY(b->err, hip.hipGraphGetNodes(graph, NULL, &n));
    if (n != b->call->n_nodes)
        return fail(b->err, "runtime_wrong_graph", "Install another version of ROCm.",
                    "%zu operations were queued, and HIP's library has captured %zu.",
                    b->call->n_nodes, n);
    for (size_t i = 0; hip.has_edges && i < n; i++) {
        const struct recording_node *node = &b->call->nodes[i];
        if (node->kind != NODE_KERNEL)
            continue;
        const struct code_object_kernel *kernel =
            code_object_kernel(b->to->images[node->image].object, node->name);
        if (make_arguments(b, node, i, kernel, block, pointers) ||
            check_arguments(b, i, b->nodes[i], node, pointers))
            return -1;
    }
    return 0;
}

static void destroy_graph(hip_graph *graph)
{
    if (*graph)
        hip.hipGraphDestroy(*graph);
}

static int capture_call(struct rebuild *b)
{
    __attribute__((cleanup(destroy_graph))) hip_graph graph = NULL;
    int status = HIP_CAPTURE_NONE;
    RUNTIME_TRY(b->err, hip.hipStreamBeginCapture(b->stream, HIP_CAPTURE_THREAD_LOCAL));
    int queued = queue_nodes(b);
    hip_error asked = hip.hipStreamIsCapturing(b->stream, &status);
    hip_error ended = hip.hipStreamEndCapture(b->stream, &graph);
    if (queued)
        return -1;
    if (asked != HIP_SUCCESS || ended != HIP_SUCCESS || !graph)
        return runtime_fail(b->err, "device_failed", asked ? asked : ended, "Capturing a call");
    if (status != HIP_CAPTURE_ACTIVE)
        return fail(b->err, "device_failed", NULL, "HIP's library gave up capturing a call.");
    if (check_graph(b, graph))
        return -1;
    RUNTIME_TRY(b->err, hip.hipGraphInstantiate(&b->to->exec, graph, NULL, NULL, 0));
    return 0;
}

int rebuild_call(struct rebuilt *ret, const struct recording *recording,
                 const struct recording_call *call, const struct arena *arena, hip_stream stream,
                 kgrade_error *err)
{
    struct rebuilt to = {.n_images = recording->n_images};
    to.images = calloc(recording->n_images + 1, sizeof *to.images);
    cleanup_free size_t *order = calloc(call->n_nodes + 1, sizeof *order);
    cleanup_free size_t *first = calloc(call->n_nodes + 1, sizeof *first);
    cleanup_free uint32_t *sources = calloc(call->n_edges + 1, sizeof *sources);
    cleanup_free hip_node *nodes = calloc(call->n_nodes + 1, sizeof *nodes);
    cleanup_free hip_node *waits = calloc(call->n_edges + 1, sizeof *waits);
    struct rebuild b = {.to = &to,
                        .recording = recording,
                        .call = call,
                        .arena = arena,
                        .stream = stream,
                        .order = order,
                        .nodes = nodes,
                        .first = first,
                        .sources = sources,
                        .waits = waits,
                        .err = err};
    int failed = 0;
    if (!to.images || !order || !first || !sources || !nodes || !waits) {
        failed = no_memory(err);
    } else {
        sort_edges(&b);
        failed = sort_nodes(&b);
    }
    /* Before the capture, which loading would disturb. */
    for (size_t i = 0; !failed && i < call->n_nodes; i++)
        if (call->nodes[i].kind == NODE_KERNEL)
            failed = load_image(&b, call->nodes[i].image);
    if (failed || capture_call(&b)) {
        if (!to.images)
            to.n_images = 0;
        rebuilt_close(&to);
        return -1;
    }
    *ret = to;
    return 0;
}

int rebuild_empty(struct rebuilt *ret, kgrade_error *err)
{
    __attribute__((cleanup(destroy_graph))) hip_graph graph = NULL;
    struct rebuilt to = {.exec = NULL};
    hip_node node;
    RUNTIME_TRY(err, hip.hipGraphCreate(&graph, 0));
    RUNTIME_TRY(err, hip.hipGraphAddEmptyNode(&node, graph, NULL, 0));
    RUNTIME_TRY(err, hip.hipGraphInstantiate(&to.exec, graph, NULL, NULL, 0));
    *ret = to;
    return 0;
}
