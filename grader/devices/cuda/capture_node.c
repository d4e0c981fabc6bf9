#define _GNU_SOURCE
#include "capture_node.h"

#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/fail.h"
#include "attributes.h"

static int no_memory(struct capture *c)
{
    return fail(c->err, "out_of_memory", NULL, "No memory for a recording.");
}

/* --- images --- */

static int add_image(struct capture *c, CUmodule module, const struct watch_image *source,
                     size_t *ret)
{
    for (size_t i = 0; i < c->n_images; i++)
        if (c->images[i].source.data == source->data && c->images[i].module == module) {
            *ret = c->images[i].image;
            return 0;
        }
    if (c->n_images == c->images_room) {
        size_t room = c->images_room ? 2 * c->images_room : 16;
        struct capture_image *images = realloc(c->images, room * sizeof *images);
        if (!images)
            return no_memory(c);
        c->images = images;
        c->images_room = room;
    }
    size_t image = recording_add_hashed_image(c->recording, "cubin", "", source->hash, source->data,
                                              source->size);
    if (image == SIZE_MAX)
        return fail(c->err, "recording_too_large", "Use fewer modules.",
                    "The call uses more code than can be recorded.");
    c->images[c->n_images++] = (struct capture_image){image, module, *source};
    *ret = image;
    return 0;
}

static int find_image(struct capture *c, CUfunction function, CUkernel kernel, const char *name,
                      size_t index, size_t *ret)
{
    CUmodule module = NULL;
    struct watch_image source;
    DRIVER_TRY(c->err, cuFuncGetModule(&module, function));
    switch (watch_find(module, kernel, name, &source)) {
    case WATCH_UNKNOWN:
        return fail(c->err, "unknown_kernel",
                    "Launch kernels that your own source or a CUDA library defines.",
                    "The code of kernel %.200s (node %zu) was not seen being loaded.", name, index);
    case WATCH_AMBIGUOUS:
        return fail(c->err, "ambiguous_kernel", "Give the kernels different names.",
                    "Several modules define kernel %.200s (node %zu), and which one is meant could "
                    "not be told.",
                    name, index);
    case WATCH_FOUND:
        break;
    }
    if (cubin_calls(&source.cubin, name, "malloc"))
        return fail(
            c->err, "device_heap", "Allocate with cudaMalloc before the launch.",
            "Kernel %.200s (node %zu) calls malloc on the device: that heap is not recorded.", name,
            index);
    if (cubin_launches(&source.cubin))
        return fail(c->err, "device_launch", "Launch all work from the host.",
                    "The module of kernel %.200s (node %zu) launches work from the device.", name,
                    index);
    return add_image(c, module, &source, ret);
}

/* --- kernels --- */

static bool in_arena(const struct capture *c, uint64_t address)
{
    const struct arena *arena = c->place->arena;
    return address >= arena->address && address - arena->address < arena->bytes;
}

/* The variable of a module known so far that an address lies in.  Not constants: by their address a kernel could write to them
 * and so leave something for the next replay.  false: none. */
static bool find_variable(const struct capture *c, uint64_t address, struct recording_arg *arg)
{
    for (size_t i = 0; i < c->n_images; i++) {
        struct cubin_variable variable;
        uint64_t cursor = 0;
        while (cubin_next_variable(&c->images[i].source.cubin, &cursor, &variable)) {
            CUdeviceptr from = 0;
            size_t bytes = 0;
            if (variable.constant || cuModuleGetGlobal(&from, &bytes, c->images[i].module,
                                                       variable.name) != CUDA_SUCCESS)
                continue;
            if (address < from || address - from >= bytes)
                continue;
            arg->image = c->images[i].image;
            arg->at = address - from;
            arg->name = strdup(variable.name);
            return arg->name != NULL;
        }
    }
    return false;
}

/* An argument of a pointer's size that is the address of memory which a replay does not have. */
static int check_pointer(struct capture *c, struct recording_arg *arg, const char *name,
                         size_t index, size_t position)
{
    uint64_t value;
    unsigned int type = 0;
    memcpy(&value, arg->bytes, sizeof value);
    if (value >> 16 == 0 || in_arena(c, value) ||
        cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, value) != CUDA_SUCCESS)
        return 0;
    if (type == CU_MEMORYTYPE_HOST)
        return fail(c->err, "host_pointer",
                    "Copy the data to device memory once, in the first call, and pass that.",
                    "Argument %zu of kernel %.200s (node %zu) points to host memory.", position,
                    name, index);
    if (type == CU_MEMORYTYPE_DEVICE && find_variable(c, value, arg)) {
        driver_trace("argument %zu of node %zu is the variable %s", position, index, arg->name);
        arg->kind = ARG_VARIABLE;
        return 0;
    }
    if (type == CU_MEMORYTYPE_DEVICE)
        return fail(c->err, "pointer_outside_arena",
                    "Use memory from cudaMalloc; name variables of another module, and "
                    "__constant__ ones, in the kernel instead of passing their address.",
                    "Argument %zu of kernel %.200s (node %zu) points to device memory that was not "
                    "allocated "
                    "through cudaMalloc.",
                    position, name, index);
    return 0;
}

static const uint8_t *packed_arguments(const CUDA_KERNEL_NODE_PARAMS *params, size_t *ret_size)
{
    const uint8_t *bytes = NULL;
    *ret_size = 0;
    for (size_t i = 0; params->extra && params->extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (params->extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            bytes = params->extra[i + 1];
        else if (params->extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            *ret_size = *(const size_t *)params->extra[i + 1];
        else
            return NULL;
    }
    return bytes;
}

static int add_arguments(struct capture *c, struct recording_node *node,
                         const CUDA_KERNEL_NODE_PARAMS *params, CUfunction function, size_t index)
{
    size_t packed_size, offset, size;
    const uint8_t *packed = packed_arguments(params, &packed_size);
    for (size_t i = 0; cuFuncGetParamInfo(function, i, &offset, &size) == CUDA_SUCCESS; i++) {
        const void *from = NULL;
        if (params->kernelParams)
            from = params->kernelParams[i];
        else if (packed && offset <= packed_size && size <= packed_size - offset)
            from = packed + offset;
        if (!from || size > RECORDING_MAX_ARG_BYTES)
            return fail(c->err, "capture_failed", NULL,
                        "Argument %zu of kernel %.200s (node %zu) cannot be read.", i, node->name,
                        index);
        struct recording_arg *arg = recording_add_arg(node, ARG_BYTES);
        if (!arg)
            return fail(c->err, "too_many_arguments", "Pass a struct by value instead.",
                        "Kernel %.200s has more than %d arguments.", node->name,
                        RECORDING_MAX_ARGS);
        arg->offset = (uint32_t)offset;
        arg->size = (uint32_t)size;
        arg->bytes = malloc(size ? size : 1);
        if (!arg->bytes)
            return no_memory(c);
        memcpy(arg->bytes, from, size);
        if (size == sizeof(uint64_t) && check_pointer(c, arg, node->name, index, i))
            return -1;
    }
    return 0;
}

static int add_attribute(struct capture *c, struct recording_node *node,
                         const struct attribute_kind *kind, const int64_t *values)
{
    struct recording_attribute *attribute = recording_add_attribute(node, kind->name);
    if (!attribute)
        return no_memory(c);
    attribute->n = kind->n;
    memcpy(attribute->values, values, kind->n * sizeof *values);
    return 0;
}

/* Settings of the function; those of its kernel handle, through which the runtime makes them, win. */
static bool function_value(struct capture *c, const struct attribute_kind *kind,
                           CUfunction function, CUkernel kernel, int64_t *ret)
{
    CUfunction_attribute id = (CUfunction_attribute)kind->id;
    int of_function = 0, of_kernel = 0;
    if (cuFuncGetAttribute(&of_function, id, function) != CUDA_SUCCESS)
        return false;
    *ret = of_function;
    if (kernel &&
        cuKernelGetAttribute(&of_kernel, id, kernel, c->place->context->device) == CUDA_SUCCESS &&
        of_kernel != of_function &&
        (id != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || of_kernel > of_function))
        *ret = of_kernel;
    if (id == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        return true;
    return *ret != (id == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT ? -1 : 0);
}

static int add_attributes(struct capture *c, struct recording_node *node, CUgraphNode from,
                          CUfunction function, CUkernel kernel, size_t index)
{
    CUlaunchAttributeValue value;
    for (size_t i = 0; i < ATTRIBUTE_KINDS; i++) {
        const struct attribute_kind *kind = &attribute_kinds[i];
        int64_t values[4] = {0};
        memset(&value, 0, sizeof value);
        bool is_set = kind->of_function
                          ? function_value(c, kind, function, kernel, values)
                          : cuGraphKernelNodeGetAttribute(from, (CUlaunchAttributeID)kind->id,
                                                          &value) == CUDA_SUCCESS &&
                                attribute_from_value(kind, &value, values);
        if (is_set && add_attribute(c, node, kind, values))
            return -1;
    }
    memset(&value, 0, sizeof value);
    if (cuGraphKernelNodeGetAttribute(from, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
                                      &value) == CUDA_SUCCESS &&
        value.deviceUpdatableKernelNode.deviceUpdatable)
        return fail(c->err, "device_updatable_node", "Launch without the attribute.",
                    "Kernel %.200s (node %zu) may be changed by device code.", node->name, index);
    return 0;
}

static int add_kernel(struct capture *c, CUgraphNode from, size_t index)
{
    CUDA_KERNEL_NODE_PARAMS params = {.func = NULL};
    const char *name = NULL;
    DRIVER_TRY(c->err, cuGraphKernelNodeGetParams(from, &params));
    CUfunction function = params.func;
    if (!function)
        DRIVER_TRY(c->err, cuKernelGetFunction(&function, params.kern));
    DRIVER_TRY(c->err, cuFuncGetName(&name, function));
    CUkernel kernel = params.func ? NULL : params.kern;
    size_t image = 0;
    if (strlen(name) > RECORDING_MAX_NAME)
        return fail(c->err, "unknown_kernel", "Give the kernel a shorter name.",
                    "The name of node %zu is too long.", index);
    if (find_image(c, function, kernel, name, index, &image))
        return -1;
    struct recording_node *node = recording_add_node(c->call, NODE_KERNEL);
    if (!node)
        return no_memory(c);
    node->image = image;
    node->work_dim = 3;
    node->name = strdup(name);
    if (!node->name)
        return no_memory(c);
    const unsigned int grid[3] = {params.gridDimX, params.gridDimY, params.gridDimZ};
    const unsigned int block[3] = {params.blockDimX, params.blockDimY, params.blockDimZ};
    for (size_t i = 0; i < 3; i++) {
        node->grid[i] = grid[i];
        node->block[i] = block[i];
    }
    node->shared_bytes = params.sharedMemBytes;
    return add_arguments(c, node, &params, function, index) ||
                   add_attributes(c, node, from, function, kernel, index)
               ? -1
               : 0;
}

/* --- copies and fills --- */

static int add_fill(struct capture *c, CUgraphNode from, size_t index)
{
    CUDA_MEMSET_NODE_PARAMS params = {.dst = 0};
    DRIVER_TRY(c->err, cuGraphMemsetNodeGetParams(from, &params));
    if (!in_arena(c, params.dst))
        return fail(c->err, "pointer_outside_arena", "Use memory from cudaMalloc.",
                    "Node %zu fills memory that was not allocated through cudaMalloc.", index);
    bool is_empty = params.width == 0 || params.height == 0;
    struct recording_node *node = recording_add_node(c->call, is_empty ? NODE_EMPTY : NODE_FILL);
    if (node && is_empty)
        return 0;
    if (!node)
        return no_memory(c);
    node->from_buffer = node->to_buffer = SIZE_MAX;
    node->to_offset = params.dst;
    node->bytes = params.width * params.elementSize;
    node->rows = params.height;
    node->to_pitch = params.height > 1 ? params.pitch : 0;
    node->pattern_bytes = params.elementSize;
    memcpy(node->pattern, &params.value, params.elementSize <= 4 ? params.elementSize : 4);
    return 0;
}

/* Where one side of a copy starts; the memory types that a graph may name are few. */
static int copy_side(struct capture *c, size_t index, CUmemorytype type, CUdeviceptr base,
                     uint64_t x, uint64_t y, uint64_t z, uint64_t pitch, uint64_t height,
                     uint64_t *ret)
{
    unsigned int found = 0;
    uint64_t address = base + (z * height + y) * pitch + x;
    if (type == CU_MEMORYTYPE_ARRAY)
        return fail(c->err, "unsupported_copy", "Use linear memory from cudaMalloc.",
                    "Node %zu copies from or to an array.", index);
    if (type != CU_MEMORYTYPE_HOST && in_arena(c, address)) {
        *ret = address;
        return 0;
    }
    bool is_device =
        type != CU_MEMORYTYPE_HOST &&
        cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS &&
        found == CU_MEMORYTYPE_DEVICE;
    if (is_device)
        return fail(
            c->err, "pointer_outside_arena", "Copy between buffers from cudaMalloc.",
            "Node %zu copies from or to device memory that was not allocated through cudaMalloc.",
            index);
    return fail(
        c->err, "host_copy",
        "Copy to the device once, in the first call, or pass small values as kernel arguments.",
        "Node %zu copies between host and device.", index);
}

static int add_copy(struct capture *c, CUgraphNode from, size_t index)
{
    CUDA_MEMCPY3D p;
    uint64_t source = 0, target = 0;
    memset(&p, 0, sizeof p);
    DRIVER_TRY(c->err, cuGraphMemcpyNodeGetParams(from, &p));
    CUdeviceptr p_source =
        p.srcMemoryType == CU_MEMORYTYPE_HOST ? (CUdeviceptr)(uintptr_t)p.srcHost : p.srcDevice;
    CUdeviceptr p_target =
        p.dstMemoryType == CU_MEMORYTYPE_HOST ? (CUdeviceptr)(uintptr_t)p.dstHost : p.dstDevice;
    if (copy_side(c, index, p.srcMemoryType, p_source, p.srcXInBytes, p.srcY, p.srcZ, p.srcPitch,
                  p.srcHeight, &source) ||
        copy_side(c, index, p.dstMemoryType, p_target, p.dstXInBytes, p.dstY, p.dstZ, p.dstPitch,
                  p.dstHeight, &target))
        return -1;
    uint64_t rows = p.Height;
    if (p.Depth > 1) {
        if (p.srcHeight != p.Height || p.dstHeight != p.Height)
            return fail(c->err, "unsupported_copy", "Copy slice by slice.",
                        "Node %zu copies a part of each slice of a volume.", index);
        rows *= p.Depth;
    }
    bool is_empty = p.WidthInBytes == 0 || rows == 0;
    struct recording_node *node = recording_add_node(c->call, is_empty ? NODE_EMPTY : NODE_COPY);
    if (node && is_empty)
        return 0;
    if (!node)
        return no_memory(c);
    node->from_buffer = node->to_buffer = SIZE_MAX;
    node->from_offset = source;
    node->to_offset = target;
    node->bytes = p.WidthInBytes;
    node->rows = rows;
    node->from_pitch = rows > 1 ? p.srcPitch : 0;
    node->to_pitch = rows > 1 ? p.dstPitch : 0;
    return 0;
}

/* --- everything else --- */

static int refuse(struct capture *c, CUgraphNodeType type, size_t index)
{
    static const struct {
        int type;
        const char *code, *what, *hint;
    } kinds[] = {
        {CU_GRAPH_NODE_TYPE_HOST, "host_node", "calls a function on the host",
         "Do the work on the device: cudaLaunchHostFunc and stream callbacks cannot be replayed."},
        {CU_GRAPH_NODE_TYPE_WAIT_EVENT, "event_node", "waits for an external event",
         "Use ordinary events to join streams."},
        {CU_GRAPH_NODE_TYPE_EVENT_RECORD, "event_node", "records an external event",
         "Use ordinary events to join streams."},
        {CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, "external_semaphore", "signals an external semaphore",
         "Keep to streams and events."},
        {CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, "external_semaphore", "waits for an external semaphore",
         "Keep to streams and events."},
        {CU_GRAPH_NODE_TYPE_MEM_ALLOC, "allocation_node", "allocates memory",
         "Allocate with cudaMalloc or cudaMallocAsync."},
        {CU_GRAPH_NODE_TYPE_MEM_FREE, "allocation_node", "frees memory",
         "Free with cudaFree or cudaFreeAsync."},
        {CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, "memory_operation_node",
         "waits for or writes a value in memory", "Order work by streams and events."},
        {CU_GRAPH_NODE_TYPE_CONDITIONAL, "conditional_node", "decides on the device what runs",
         "Launch everything from the host, and decide inside the kernels."},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].type == (int)type)
            return fail(c->err, kinds[i].code, kinds[i].hint, "Node %zu of the call %s.", index,
                        kinds[i].what);
    return fail(c->err, "unsupported_node", "Keep to kernels, copies and fills.",
                "Node %zu of the call is of a kind (%d) that cannot be recorded.", index,
                (int)type);
}

int capture_node(struct capture *c, CUgraphNode node, size_t index)
{
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    if (node)
        DRIVER_TRY(c->err, cuGraphNodeGetType(node, &type));
    if (type == CU_GRAPH_NODE_TYPE_KERNEL)
        return add_kernel(c, node, index);
    if (type == CU_GRAPH_NODE_TYPE_MEMSET)
        return add_fill(c, node, index);
    if (type == CU_GRAPH_NODE_TYPE_MEMCPY)
        return add_copy(c, node, index);
    if (type == CU_GRAPH_NODE_TYPE_EMPTY)
        return recording_add_node(c->call, NODE_EMPTY) ? 0 : no_memory(c);
    return refuse(c, type, index);
}
