#define _GNU_SOURCE
#include "rebuild.h"

#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "attributes.h"
#include "cubin.h"

#define INVALID_HINT "Record the candidate again on this machine."

/* One kernel node's arguments, packed for the driver. */
struct packed {
    uint8_t bytes[RECORDING_MAX_ARG_BYTES + 16];
    void *pointers[RECORDING_MAX_ARGS];
};

struct builder {
    const struct rebuild_place *place;
    const struct recording *recording;
    const struct recording_call *call;
    struct rebuilt *out;
    CUgraphNode *nodes;
    struct packed *packed;
    kgrade_error *err;
};

static int node_fail(const struct builder *b, size_t index, CUresult result, const char *what)
{
    const struct recording_node *node = &b->call->nodes[index];
    const char *name = NULL;
    cuGetErrorName(result, &name);
    return fail(b->err, "recording_invalid", INVALID_HINT,
                "Node %zu (%.200s) cannot be rebuilt: %s: %s (%d).", index,
                node->name ? node->name : "no kernel", what, name ? name : "unknown error",
                (int)result);
}

static int load_image(struct builder *b, size_t index)
{
    struct loaded_image *loaded = &b->out->images[index];
    const struct recording_image *image = &b->recording->images[index];
    const struct bytes *blob = &b->recording->blobs[image->blob];
    struct cubin cubin;
    if (loaded->used)
        return 0;
    if (strcmp(image->kind, "cubin") || !cubin_parse(blob->data, blob->size, &cubin))
        return fail(b->err, "recording_invalid", INVALID_HINT, "Image %zu is not a cubin.", index);
    CUresult result = cuModuleLoadData(&loaded->module, blob->data);
    if (result != CUDA_SUCCESS) {
        const char *name = NULL;
        cuGetErrorName(result, &name);
        return fail(b->err, "recording_invalid",
                    "Record the candidate on a card of the same architecture.",
                    "Image %zu cannot be loaded here: %s (%d).", index,
                    name ? name : "unknown error", (int)result);
    }
    loaded->used = true;
    return 0;
}

/* Where the variable lies in this process. */
static int pack_address(struct builder *b, size_t index, const struct recording_arg *arg)
{
    CUdeviceptr address = 0;
    size_t bytes = 0;
    if (load_image(b, arg->image))
        return -1;
    CUresult result =
        cuModuleGetGlobal(&address, &bytes, b->out->images[arg->image].module, arg->name);
    if (result != CUDA_SUCCESS)
        return node_fail(b, index, result, "finding a variable in its image");
    if (arg->at >= bytes)
        return fail(b->err, "recording_invalid", INVALID_HINT,
                    "Node %zu takes an address behind the variable \"%.200s\".", index, arg->name);
    uint64_t value = address + arg->at;
    memcpy(b->packed->bytes + arg->offset, &value, sizeof value);
    return 0;
}

/* The function's own parameters must be what the recording brings, no more and no less. */
static int pack_arguments(struct builder *b, size_t index, CUfunction function)
{
    const struct recording_node *node = &b->call->nodes[index];
    for (size_t i = 0; i < node->n_args; i++) {
        const struct recording_arg *arg = &node->args[i];
        size_t offset = 0, size = 0;
        if ((arg->kind != ARG_BYTES && arg->kind != ARG_VARIABLE) ||
            cuFuncGetParamInfo(function, i, &offset, &size) != CUDA_SUCCESS ||
            offset != arg->offset || size != arg->size || offset + size > RECORDING_MAX_ARG_BYTES)
            return fail(b->err, "recording_invalid", INVALID_HINT,
                        "Argument %zu of node %zu (%.200s) is not what the kernel takes.", i, index,
                        node->name);
        if (arg->kind == ARG_BYTES)
            memcpy(b->packed->bytes + offset, arg->bytes, size);
        else if (pack_address(b, index, arg))
            return -1;
        b->packed->pointers[i] = b->packed->bytes + offset;
    }
    size_t offset, size;
    if (cuFuncGetParamInfo(function, node->n_args, &offset, &size) == CUDA_SUCCESS)
        return fail(b->err, "recording_invalid", INVALID_HINT, "Node %zu (%.200s) lacks arguments.",
                    index, node->name);
    return 0;
}

static int set_function_attributes(struct builder *b, size_t index, CUfunction function)
{
    const struct recording_node *node = &b->call->nodes[index];
    for (size_t i = 0; i < node->n_attributes; i++) {
        const struct recording_attribute *attribute = &node->attributes[i];
        const struct attribute_kind *kind = attribute_find(attribute->name);
        int have = 0;
        if (!kind || kind->n != attribute->n)
            return fail(b->err, "recording_invalid", INVALID_HINT,
                        "Node %zu has an unknown attribute \"%s\".", index, attribute->name);
        if (!kind->of_function)
            continue;
        CUfunction_attribute id = (CUfunction_attribute)kind->id;
        if (cuFuncGetAttribute(&have, id, function) == CUDA_SUCCESS && have == attribute->values[0])
            continue;
        CUresult result = cuFuncSetAttribute(function, id, (int)attribute->values[0]);
        if (result != CUDA_SUCCESS)
            return node_fail(b, index, result, attribute->name);
    }
    int room = 0;
    if (cuFuncGetAttribute(&room, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function) ==
            CUDA_SUCCESS &&
        (int64_t)room < (int64_t)node->shared_bytes) {
        CUresult result = cuFuncSetAttribute(
            function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)node->shared_bytes);
        if (result != CUDA_SUCCESS)
            return node_fail(b, index, result, "allowing its shared memory");
    }
    return 0;
}

static int set_launch_attributes(struct builder *b, size_t index)
{
    const struct recording_node *node = &b->call->nodes[index];
    for (size_t i = 0; i < node->n_attributes; i++) {
        const struct attribute_kind *kind = attribute_find(node->attributes[i].name);
        if (kind->of_function)
            continue;
        CUlaunchAttributeValue value, present;
        int64_t have[4] = {0};
        attribute_to_value(kind, node->attributes[i].values, &value);
        /* What the kernel was compiled with is there already, and need not be settable. */
        memset(&present, 0, sizeof present);
        if (cuGraphKernelNodeGetAttribute(b->nodes[index], (CUlaunchAttributeID)kind->id,
                                          &present) == CUDA_SUCCESS &&
            attribute_from_value(kind, &present, have) &&
            !memcmp(have, node->attributes[i].values, kind->n * sizeof *have))
            continue;
        CUresult result =
            cuGraphKernelNodeSetAttribute(b->nodes[index], (CUlaunchAttributeID)kind->id, &value);
        if (result != CUDA_SUCCESS)
            return node_fail(b, index, result, kind->name);
    }
    return 0;
}

static int add_kernel(struct builder *b, size_t index)
{
    const struct recording_node *node = &b->call->nodes[index];
    CUfunction function = NULL;
    for (size_t i = 0; i < 3; i++)
        if (node->grid[i] > UINT32_MAX || node->block[i] > UINT32_MAX || node->offset[i])
            return fail(b->err, "recording_invalid", INVALID_HINT,
                        "Node %zu has an impossible grid.", index);
    if (load_image(b, node->image))
        return -1;
    CUresult result =
        cuModuleGetFunction(&function, b->out->images[node->image].module, node->name);
    if (result != CUDA_SUCCESS)
        return node_fail(b, index, result, "finding the kernel in its image");
    if (pack_arguments(b, index, function) || set_function_attributes(b, index, function))
        return -1;
    CUDA_KERNEL_NODE_PARAMS params = {
        .func = function,
        .gridDimX = (unsigned int)node->grid[0],
        .gridDimY = (unsigned int)node->grid[1],
        .gridDimZ = (unsigned int)node->grid[2],
        .blockDimX = (unsigned int)node->block[0],
        .blockDimY = (unsigned int)node->block[1],
        .blockDimZ = (unsigned int)node->block[2],
        .sharedMemBytes = node->shared_bytes,
        .kernelParams = b->packed->pointers,
    };
    result = cuGraphAddKernelNode(&b->nodes[index], b->out->graph, NULL, 0, &params);
    if (result != CUDA_SUCCESS)
        return node_fail(b, index, result, "adding the kernel");
    return set_launch_attributes(b, index);
}

/* Rows of bytes at an address, pitch apart, all inside the arena. */
static bool in_arena(const struct arena *arena, uint64_t address, uint64_t bytes, uint64_t rows,
                     uint64_t pitch)
{
    uint64_t extent = 0;
    if (rows == 0 || (rows > 1 && pitch < bytes) ||
        __builtin_mul_overflow(rows - 1, rows > 1 ? pitch : 0, &extent) ||
        __builtin_add_overflow(extent, bytes, &extent) || address < arena->address)
        return false;
    uint64_t from = address - arena->address;
    return from <= arena->bytes && extent <= arena->bytes - from;
}

static int add_copy(struct builder *b, size_t index)
{
    const struct recording_node *node = &b->call->nodes[index];
    const struct arena *arena = b->place->arena;
    if (node->from_buffer != SIZE_MAX || node->to_buffer != SIZE_MAX || node->bytes == 0 ||
        !in_arena(arena, node->from_offset, node->bytes, node->rows, node->from_pitch) ||
        !in_arena(arena, node->to_offset, node->bytes, node->rows, node->to_pitch))
        return fail(b->err, "recording_invalid", INVALID_HINT,
                    "Node %zu copies from or to outside the arena.", index);
    bool linear = node->rows == 1;
    CUDA_MEMCPY3D params = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = node->from_offset,
        .srcPitch = linear ? node->bytes : node->from_pitch,
        .srcHeight = node->rows,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = node->to_offset,
        .dstPitch = linear ? node->bytes : node->to_pitch,
        .dstHeight = node->rows,
        .WidthInBytes = node->bytes,
        .Height = node->rows,
        .Depth = 1,
    };
    CUresult result = cuGraphAddMemcpyNode(&b->nodes[index], b->out->graph, NULL, 0, &params,
                                           b->place->context->context);
    return result == CUDA_SUCCESS ? 0 : node_fail(b, index, result, "adding the copy");
}

static int add_fill(struct builder *b, size_t index)
{
    const struct recording_node *node = &b->call->nodes[index];
    uint32_t size = node->pattern_bytes;
    if (node->to_buffer != SIZE_MAX || (size != 1 && size != 2 && size != 4) || node->bytes == 0 ||
        node->bytes % size ||
        !in_arena(b->place->arena, node->to_offset, node->bytes, node->rows, node->to_pitch))
        return fail(b->err, "recording_invalid", INVALID_HINT,
                    "Node %zu fills memory outside the arena.", index);
    CUDA_MEMSET_NODE_PARAMS params = {
        .dst = node->to_offset,
        .pitch = node->rows == 1 ? 0 : node->to_pitch,
        .elementSize = size,
        .width = node->bytes / size,
        .height = node->rows,
    };
    memcpy(&params.value, node->pattern, size);
    CUresult result = cuGraphAddMemsetNode(&b->nodes[index], b->out->graph, NULL, 0, &params,
                                           b->place->context->context);
    return result == CUDA_SUCCESS ? 0 : node_fail(b, index, result, "adding the fill");
}

static int add_node(struct builder *b, size_t index)
{
    CUresult result;
    switch (b->call->nodes[index].kind) {
    case NODE_KERNEL:
        return add_kernel(b, index);
    case NODE_COPY:
        return add_copy(b, index);
    case NODE_FILL:
        return add_fill(b, index);
    case NODE_EMPTY:
        break;
    }
    result = cuGraphAddEmptyNode(&b->nodes[index], b->out->graph, NULL, 0);
    return result == CUDA_SUCCESS ? 0 : node_fail(b, index, result, "adding the node");
}

/* Gate and stop are nodes n and n + 1.  A node hangs on the gate when nothing comes before it.  The stop hangs on every
 * node of which no other waits for the full end: a programmatic edge alone does not say that its origin has ended. */
static int add_edges(struct builder *b)
{
    size_t n = b->call->n_nodes;
    CUgraphNode gate = b->nodes[n], stop = b->nodes[n + 1];
    cleanup_free bool *has_before = calloc(n + 1, sizeof *has_before);
    cleanup_free bool *is_awaited = calloc(n + 1, sizeof *is_awaited);
    if (!has_before || !is_awaited)
        return fail(b->err, "out_of_memory", NULL, "No memory for the edges of a graph.");
    for (size_t i = 0; i < b->call->n_edges; i++) {
        const struct recording_edge *edge = &b->call->edges[i];
        CUgraphEdgeData data = {
            .from_port = edge->from_port, .to_port = edge->to_port, .type = edge->type};
        has_before[edge->to] = true;
        if (edge->from_port == CU_GRAPH_KERNEL_NODE_PORT_DEFAULT &&
            edge->type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT)
            is_awaited[edge->from] = true;
        CUresult result = cuGraphAddDependencies(b->out->graph, &b->nodes[edge->from],
                                                 &b->nodes[edge->to], &data, 1);
        if (result != CUDA_SUCCESS)
            return node_fail(b, edge->to, result, "adding an edge");
    }
    for (size_t i = 0; i < n; i++) {
        CUresult result = CUDA_SUCCESS;
        if (!has_before[i])
            result = cuGraphAddDependencies(b->out->graph, &gate, &b->nodes[i], NULL, 1);
        if (result == CUDA_SUCCESS && !is_awaited[i])
            result = cuGraphAddDependencies(b->out->graph, &b->nodes[i], &stop, NULL, 1);
        if (result != CUDA_SUCCESS)
            return node_fail(b, i, result, "adding the edges of gate and stop");
    }
    if (n == 0)
        DRIVER_TRY(b->err, cuGraphAddDependencies(b->out->graph, &gate, &stop, NULL, 1));
    return 0;
}

static int add_trusted(struct builder *b, enum kernel_id id, CUgraphNode *ret)
{
    CUdeviceptr mail = b->place->gate->mail_device;
    void *arguments[] = {&mail};
    CUDA_KERNEL_NODE_PARAMS params = {
        .func = b->place->kernels->functions[id],
        .gridDimX = 1,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = 1,
        .blockDimY = 1,
        .blockDimZ = 1,
        .kernelParams = arguments,
    };
    DRIVER_TRY(b->err, cuGraphAddKernelNode(ret, b->out->graph, NULL, 0, &params));
    return 0;
}

static int build(struct builder *b, CUstream stream)
{
    size_t n = b->call->n_nodes;
    DRIVER_TRY(b->err, cuGraphCreate(&b->out->graph, 0));
    if (add_trusted(b, KERNEL_GATE, &b->nodes[n]) || add_trusted(b, KERNEL_STOP, &b->nodes[n + 1]))
        return -1;
    for (size_t i = 0; i < n; i++)
        if (add_node(b, i))
            return -1;
    if (add_edges(b))
        return -1;
    /* Never for launches from the device: a sibling launch would outlive the stop stamp. */
    CUresult result = cuGraphInstantiate(&b->out->exec, b->out->graph, 0);
    if (result != CUDA_SUCCESS) {
        const char *name = NULL;
        cuGetErrorName(result, &name);
        return fail(b->err, "recording_invalid", INVALID_HINT,
                    "The graph of %zu nodes cannot be made ready: %s (%d).", n,
                    name ? name : "unknown error", (int)result);
    }
    DRIVER_TRY(b->err, cuGraphUpload(b->out->exec, stream));
    return 0;
}

static int rebuild(struct rebuilt *ret, const struct rebuild_place *place,
                   const struct recording *recording, const struct recording_call *call,
                   CUstream stream, kgrade_error *err)
{
    struct rebuilt out = {.n_images = recording ? recording->n_images : 0};
    cleanup_free CUgraphNode *nodes = calloc(call->n_nodes + 2, sizeof *nodes);
    cleanup_free struct packed *packed = malloc(sizeof *packed);
    out.images = calloc(out.n_images + 1, sizeof *out.images);
    struct builder b = {place, recording, call, &out, nodes, packed, err};
    if (!nodes || !packed || !out.images) {
        free(out.images);
        return fail(err, "out_of_memory", NULL, "No memory to rebuild a graph.");
    }
    if (build(&b, stream)) {
        rebuilt_close(&out);
        return -1;
    }
    driver_trace("graph of %zu nodes and %zu edges rebuilt", call->n_nodes, call->n_edges);
    *ret = out;
    return 0;
}

int rebuild_call(struct rebuilt *ret, const struct rebuild_place *place,
                 const struct recording *recording, const struct recording_call *call,
                 CUstream stream, kgrade_error *err)
{
    return rebuild(ret, place, recording, call, stream, err);
}

int rebuild_empty(struct rebuilt *ret, const struct rebuild_place *place, CUstream stream,
                  kgrade_error *err)
{
    struct recording_call nothing = {.nodes = NULL};
    return rebuild(ret, place, NULL, &nothing, stream, err);
}

void rebuilt_close(struct rebuilt *rebuilt)
{
    if (rebuilt->exec)
        cuGraphExecDestroy(rebuilt->exec);
    if (rebuilt->graph)
        cuGraphDestroy(rebuilt->graph);
    for (size_t i = 0; i < rebuilt->n_images; i++)
        if (rebuilt->images[i].used)
            cuModuleUnload(rebuilt->images[i].module);
    free(rebuilt->images);
    *rebuilt = (struct rebuilt){0};
}
