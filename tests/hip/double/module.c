/* Modules are real code objects, read as the grader reads them; launches take their arguments apart by the metadata. */
#include <stdlib.h>
#include <string.h>

#include "double.h"

#define MAX_VARIABLES 64

struct ihipModule_t {
    struct code_object *object;
    uint8_t *image; /* a copy: the caller may free his */
    struct ihipModuleSymbol_t *functions;
    struct {
        const char *name;
        void *at;
        size_t bytes;
    } variables[MAX_VARIABLES];
    size_t n_variables;
};

static hipError_t make_variables(struct ihipModule_t *module)
{
    struct code_object_variable v;
    uint64_t cursor = 0;
    while (code_object_next_variable(module->object, &cursor, &v)) {
        void *at = NULL;
        if (module->n_variables == MAX_VARIABLES || hipMalloc(&at, v.bytes))
            return hipErrorOutOfMemory;
        if (v.initial)
            memcpy(at, v.initial, v.bytes);
        module->variables[module->n_variables].name = v.name;
        module->variables[module->n_variables].at = at;
        module->variables[module->n_variables++].bytes = v.bytes;
    }
    return hipSuccess;
}

DOUBLE_API hipError_t hipModuleUnload(hipModule_t module)
{
    while (module->functions) {
        struct ihipModuleSymbol_t *next = module->functions->next;
        free(module->functions);
        module->functions = next;
    }
    for (size_t i = 0; i < module->n_variables; i++)
        (void)hipFree(module->variables[i].at);
    code_object_free(module->object);
    free(module->image);
    free(module);
    return hipSuccess;
}

/* The real one takes the size from the image, too. */
DOUBLE_API hipError_t hipModuleLoadData(hipModule_t *module, const void *image)
{
    if (device_state())
        return device_state();
    size_t bytes = code_object_extent(image, SIZE_MAX / 2);
    struct ihipModule_t *m = calloc(1, sizeof *m);
    m->image = malloc(bytes ? bytes : 1);
    memcpy(m->image, image, bytes);
    m->object = code_object_parse(m->image, bytes, NULL);
    hipError_t error = m->object ? make_variables(m) : hipErrorInvalidImage;
    if (!error && !code_object_target_fits(m->object->target, DOUBLE_TARGET))
        error = hipErrorNoBinaryForGpu;
    if (error) {
        (void)hipModuleUnload(m);
        return error;
    }
    *module = m;
    return hipSuccess;
}

DOUBLE_API hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module,
                                           const char *kname)
{
    const struct code_object_kernel *kernel = code_object_kernel(module->object, kname);
    if (device_state())
        return device_state();
    if (!kernel)
        return hipErrorNotFound;
    struct ihipModuleSymbol_t *f = calloc(1, sizeof *f);
    *f = (struct ihipModuleSymbol_t){module, kernel, module->functions};
    module->functions = *function = f;
    return hipSuccess;
}

DOUBLE_API hipError_t hipModuleGetGlobal(hipDeviceptr_t *dptr, size_t *bytes, hipModule_t hmod,
                                         const char *name)
{
    for (size_t i = 0; i < hmod->n_variables; i++) {
        if (strcmp(hmod->variables[i].name, name))
            continue;
        *dptr = hmod->variables[i].at;
        *bytes = hmod->variables[i].bytes;
        return device_state();
    }
    return hipErrorNotFound;
}

/* The packed arguments of HIP_LAUNCH_PARAM_*; NULL: there are none. */
static const void *packed_of(void **extra, size_t *ret_bytes)
{
    const void *packed = NULL;
    for (size_t i = 0; extra && extra[i] != HIP_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_POINTER)
            packed = extra[i + 1];
        else if (extra[i] == HIP_LAUNCH_PARAM_BUFFER_SIZE)
            *ret_bytes = *(const size_t *)extra[i + 1];
    }
    return packed;
}

hipError_t launch_make(hipFunction_t function, dim3 grid, dim3 block, uint32_t shared_bytes,
                       void **parameters, void **extra, struct launch *ret)
{
    const struct code_object_kernel *kernel = function->kernel;
    size_t bytes = 0;
    const void *packed = packed_of(extra, &bytes);
    if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z ||
        (uint64_t)block.x * block.y * block.z > 1024)
        return hipErrorInvalidConfiguration;
    if (kernel->explicit_bytes && !parameters && (!packed || bytes < kernel->explicit_bytes))
        return hipErrorInvalidValue;
    *ret =
        (struct launch){function, grid, block, shared_bytes, calloc(1, kernel->kernarg_bytes + 8)};
    if (!ret->arguments)
        return hipErrorOutOfMemory;
    for (size_t i = 0; i < kernel->n_args; i++) {
        const struct code_object_arg *arg = &kernel->args[i];
        if (arg->kind != CODE_ARG_HIDDEN)
            memcpy(ret->arguments + arg->offset,
                   parameters ? parameters[i] : (const uint8_t *)packed + arg->offset, arg->size);
    }
    return hipSuccess;
}

hipError_t launch_run(const struct launch *launch)
{
    uint64_t begun = clock_begin();
    hipError_t error = kernel_run(launch);
    clock_end(begun, kernel_ns(launch));
    if (error)
        device_break(error);
    return hipSuccess; /* what went wrong is told by the next call, as on a device */
}

DOUBLE_API hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned int gridDimX,
                                            unsigned int gridDimY, unsigned int gridDimZ,
                                            unsigned int blockDimX, unsigned int blockDimY,
                                            unsigned int blockDimZ, unsigned int sharedMemBytes,
                                            hipStream_t stream, void **kernelParams, void **extra)
{
    struct hipGraphNode node = {.kind = NODE_LAUNCH};
    if (device_state())
        return device_state();
    hipError_t error = launch_make(f, (dim3){gridDimX, gridDimY, gridDimZ},
                                   (dim3){blockDimX, blockDimY, blockDimZ}, sharedMemBytes,
                                   kernelParams, extra, &node.launch);
    if (!error)
        error = stream_enqueue(stream, &node);
    if (!stream || !stream->graph)
        free(node.launch.arguments);
    return error;
}

DOUBLE_API hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks,
                                                                         hipFunction_t f,
                                                                         int blockSize,
                                                                         size_t dynSharedMemPerBlk)
{
    (void)f, (void)dynSharedMemPerBlk;
    *numBlocks = blockSize > 0 ? 2048 / blockSize : 0;
    return device_state();
}
