/* Code and launches, for candidates. */
#define _GNU_SOURCE
#include <string.h>

#include "entry.h"

/* --- what compiled programs call before main and for <<<>>> --- */

ENTRY(void **, __hipRegisterFatBinary, (const void *data))
{
    ENTRY_LOCK();
    const hip_fat_binary *binary = data;
    if (!binary || binary->magic != HIP_FAT_BINARY_MAGIC) {
        capture_refuse("image_invalid", "Compile with hipcc.",
                       "The candidate registers code of an unknown form.");
        return NULL;
    }
    return (void **)module_add(binary->bundle);
}

ENTRY(void, __hipUnregisterFatBinary, (void **handle))
{
    ENTRY_LOCK();
    struct module *m = module_find(handle);
    if (m && !capture.writing)
        module_remove(m);
}

ENTRY(void, __hipRegisterFunction,
      (void **handle, const void *host, char *device, const char *name, unsigned threads,
       void *thread, void *block, hip_dim3 *block_size, hip_dim3 *grid_size, int *wave))
{
    (void)device, (void)threads, (void)thread, (void)block, (void)block_size, (void)grid_size;
    (void)wave;
    ENTRY_LOCK();
    struct module *m = module_find(handle);
    if (m && name)
        function_register(m, host, name);
}

ENTRY(void, __hipRegisterVar,
      (void **handle, void *host, char *host_name, const char *name, int external, size_t bytes,
       int constant, int global))
{
    (void)host_name, (void)external, (void)bytes, (void)constant, (void)global;
    ENTRY_LOCK();
    struct module *m = module_find(handle);
    if (m && name)
        variable_register(m, host, name);
}

/* By threads, as <<<>>> nests. */
#define MAX_CONFIGURATIONS 16
static _Thread_local struct {
    hip_dim3 grid, block;
    size_t shared;
    hip_stream stream;
} pushed[MAX_CONFIGURATIONS];
static _Thread_local size_t n_pushed;

ENTRY(hip_error, __hipPushCallConfiguration,
      (hip_dim3 grid, hip_dim3 block, size_t shared, hip_stream stream))
{
    if (n_pushed == MAX_CONFIGURATIONS)
        return HIP_ERROR_INVALID_VALUE;
    pushed[n_pushed].grid = grid;
    pushed[n_pushed].block = block;
    pushed[n_pushed].shared = shared;
    pushed[n_pushed].stream = stream;
    n_pushed++;
    return HIP_SUCCESS;
}

ENTRY(hip_error, __hipPopCallConfiguration,
      (hip_dim3 * grid, hip_dim3 *block, size_t *shared, hip_stream *stream))
{
    if (n_pushed == 0)
        return HIP_ERROR_INVALID_VALUE;
    n_pushed--;
    *grid = pushed[n_pushed].grid;
    *block = pushed[n_pushed].block;
    *shared = pushed[n_pushed].shared;
    *stream = pushed[n_pushed].stream;
    return HIP_SUCCESS;
}

/* --- launches --- */

static hip_error launch(const void *handle, hip_dim3 grid, hip_dim3 block, size_t shared,
                        hip_stream stream, void **parameters, void **extra)
{
    const uint32_t grids[3] = {grid.x, grid.y, grid.z}, blocks[3] = {block.x, block.y, block.z};
    ENTRY_LOCK();
    struct stream *s = entry_stream(stream);
    struct function *f = function_find(handle);
    if (!f) {
        capture_refuse("unknown_function", "Launch kernels of code that HIP has loaded.",
                       "The candidate launches a function that no loaded code has.");
        return HIP_ERROR_INVALID_DEVICE_FUNCTION;
    }
    if (!s || shared > UINT32_MAX)
        return HIP_ERROR_INVALID_VALUE;
    if (capture.writing)
        return node_kernel(s, f, grids, blocks, (uint32_t)shared, parameters, extra);
    hip_error result = function_load(f);
    return result != HIP_SUCCESS
               ? result
               : hip.hipModuleLaunchKernel(f->handle, grid.x, grid.y, grid.z, block.x, block.y,
                                           block.z, (unsigned)shared, s->handle, parameters, extra);
}

ENTRY(hip_error, hipLaunchKernel,
      (const void *function, hip_dim3 grid, hip_dim3 block, void **arguments, size_t shared,
       hip_stream stream))
{
    return entry_done(launch(function, grid, block, shared, stream, arguments, NULL));
}

/* What <<<>>> becomes where the default stream is each thread's own. */
ENTRY(hip_error, hipLaunchKernel_spt,
      (const void *function, hip_dim3 grid, hip_dim3 block, void **arguments, size_t shared,
       hip_stream stream))
{
    return entry_done(launch(function, grid, block, shared, stream, arguments, NULL));
}

ENTRY(hip_error, hipModuleLaunchKernel,
      (hip_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
       unsigned block_y, unsigned block_z, unsigned shared, hip_stream stream, void **parameters,
       void **extra))
{
    const hip_dim3 grid = {grid_x, grid_y, grid_z}, block = {block_x, block_y, block_z};
    return entry_done(launch(function, grid, block, shared, stream, parameters, extra));
}

/* --- modules --- */

static hip_error load(hip_module *ret, const void *image)
{
    ENTRY_LOCK();
    if (!ret || !image)
        return HIP_ERROR_INVALID_VALUE;
    struct module *m = module_add(image);
    hip_error result = m ? module_load(m) : HIP_ERROR_OUT_OF_MEMORY;
    if (result == HIP_SUCCESS)
        *ret = m;
    return result;
}

ENTRY(hip_error, hipModuleLoadData, (hip_module * ret, const void *image))
{
    return entry_done(load(ret, image));
}

ENTRY(hip_error, hipModuleLoadDataEx,
      (hip_module * ret, const void *image, unsigned n, int *options, void **values))
{
    (void)n, (void)options, (void)values;
    return entry_done(load(ret, image));
}

ENTRY(hip_error, hipModuleUnload, (hip_module handle))
{
    ENTRY_LOCK();
    struct module *m = module_find(handle);
    if (!m)
        return entry_done(HIP_ERROR_INVALID_HANDLE);
    if (capture.writing) {
        capture_refuse("unsupported_call", "Unload code after the last call, or never.",
                       "The call unloads code, which has no place in a recording.");
        return entry_done(HIP_ERROR_NOT_SUPPORTED);
    }
    hip.hipDeviceSynchronize();
    module_remove(m);
    return HIP_SUCCESS;
}

ENTRY(hip_error, hipModuleGetFunction, (hip_function * ret, hip_module handle, const char *name))
{
    ENTRY_LOCK();
    struct module *m = module_find(handle);
    if (!m || !ret || !name)
        return entry_done(m ? HIP_ERROR_INVALID_VALUE : HIP_ERROR_INVALID_HANDLE);
    struct function *f = function_get(m, name);
    if (!f)
        return entry_done(HIP_ERROR_NOT_FOUND);
    *ret = f;
    return HIP_SUCCESS;
}

ENTRY(hip_error, hipModuleGetGlobal,
      (void **ret, size_t *ret_bytes, hip_module handle, const char *name))
{
    ENTRY_LOCK();
    struct module *m = module_find(handle);
    if (!m || !m->handle)
        return entry_done(HIP_ERROR_INVALID_HANDLE);
    return entry_done(hip.hipModuleGetGlobal(ret, ret_bytes, m->handle, name));
}

/* --- hints and questions about kernels --- */

ENTRY(hip_error, hipFuncSetAttribute, (const void *function, int attribute, int value))
{
    (void)function, (void)attribute, (void)value;
    return HIP_SUCCESS;
}

ENTRY(hip_error, hipFuncSetCacheConfig, (const void *function, int configuration))
{
    (void)function, (void)configuration;
    return HIP_SUCCESS;
}

static hip_error occupancy(int *ret, const void *function, int block, size_t shared)
{
    ENTRY_LOCK();
    struct function *f = function_find(function);
    hip_error result = f ? function_load(f) : HIP_ERROR_INVALID_DEVICE_FUNCTION;
    if (result != HIP_SUCCESS)
        return result;
    if (!hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor)
        return HIP_ERROR_NOT_SUPPORTED;
    return hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(ret, f->handle, block, shared);
}

ENTRY(hip_error, hipOccupancyMaxActiveBlocksPerMultiprocessor,
      (int *ret, const void *function, int block, size_t shared))
{
    return entry_done(occupancy(ret, function, block, shared));
}

ENTRY(hip_error, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor,
      (int *ret, hip_function function, int block, size_t shared))
{
    return entry_done(occupancy(ret, function, block, shared));
}
