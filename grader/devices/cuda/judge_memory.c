/*
 * The task's Python works on streams of its own (PyTorch's is the legacy default stream unless a task says otherwise, which the judge's
 * does not wait for), and waits for the whole device before it answers; all that is done here has ended when its function returns.  So
 * neither finds half of what the other does.
 */
#include "judge_memory.h"

#include "../../../sandbox/base/fail.h"
#include "inputs.h"

int device_memory_open(struct device_memory *ret, const struct driver_context *context,
                       CUstream stream, const struct arena *arena, kgrade_error *err)
{
    struct device_memory m = {.arena = arena, .stream = stream};
    DRIVER_TRY(err, cuDeviceGetDefaultMemPool(&m.pool, context->device));
    if (kernels_open(&m.kernels, context, err) || comparer_open(&m.comparer, stream, err)) {
        device_memory_close(&m);
        return -1;
    }
    *ret = m;
    return 0;
}

void device_memory_close(struct device_memory *m)
{
    comparer_close(&m->comparer);
    kernels_close(&m->kernels);
    *m = (struct device_memory){.arena = NULL};
}

int device_memory_check(const struct arena *arena, uint64_t offset, uint64_t bytes,
                        kgrade_error *err)
{
    uint64_t room = arena_case_bytes(arena);
    if (offset > room || bytes > room - offset)
        return fail(err, "arena_failed", NULL, "The judge was to use memory outside the arena.");
    return 0;
}

int device_memory_arena(const struct device_memory *m, uint64_t bytes, uint64_t *ret,
                        kgrade_error *err)
{
    if (device_memory_check(m->arena, 0, bytes, err))
        return -1;
    *ret = arena_buffers(m->arena);
    return 0;
}

int device_memory_take(const struct device_memory *m, uint64_t bytes, uint64_t *ret,
                       kgrade_error *err)
{
    CUdeviceptr at = 0;
    uint64_t size = bytes ? bytes : 1;
    CUresult result = cuMemAllocAsync(&at, size, m->stream);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        driver_trace("no %llu bytes left for the judge", (unsigned long long)size);
        return fail(err, "judge_memory", NULL, "The device has no %llu bytes left for the judge.",
                    (unsigned long long)size);
    }
    if (result == CUDA_SUCCESS)
        result = cuMemsetD8Async(at, 0, size, m->stream);
    if (result == CUDA_SUCCESS)
        result = cuStreamSynchronize(m->stream);
    if (result != CUDA_SUCCESS) {
        device_memory_give_back(m, at);
        return driver_fail(err, "device_failed", result, "Taking memory for the judge");
    }
    *ret = at;
    return 0;
}

void device_memory_give_back(const struct device_memory *m, uint64_t at)
{
    if (at)
        cuMemFreeAsync(at, m->stream);
}

int device_memory_trim(const struct device_memory *m, kgrade_error *err)
{
    DRIVER_TRY(err,
               cuStreamSynchronize(m->stream)); /* what is not given back yet cannot be freed */
    DRIVER_TRY(err, cuMemPoolTrimTo(m->pool, 0));
    return 0;
}

int device_memory_copy(const struct device_memory *m, uint64_t offset, uint64_t bytes, uint64_t to,
                       kgrade_error *err)
{
    if (device_memory_check(m->arena, offset, bytes, err))
        return -1;
    if (bytes == 0)
        return 0;
    DRIVER_TRY(err, cuMemcpyDtoDAsync(to, arena_buffers(m->arena) + offset, bytes, m->stream));
    DRIVER_TRY(err, cuStreamSynchronize(m->stream));
    return 0;
}

int device_memory_poison(const struct device_memory *m, const struct task *task,
                         const struct judge_case *c, uint64_t to, kgrade_error *err)
{
    struct launch_target target = {.stream = m->stream};
    if (inputs_queue_around(&m->kernels, &target, to, task, &c->layout, c->poison, err))
        return -1;
    DRIVER_TRY(err, cuStreamSynchronize(m->stream));
    return 0;
}

int device_memory_compare(const struct device_memory *m, enum dtype type, uint64_t got,
                          uint64_t poison, uint64_t expected, uint64_t count,
                          const struct tolerance *tolerance, struct comparison *ret,
                          kgrade_error *err)
{
    return comparer_output(&m->comparer, type, got, poison, expected, count, tolerance, ret, err) ||
                   comparer_around(&m->comparer, type, got, expected, ret, err)
               ? -1
               : 0;
}

int device_memory_store(uint64_t at, const void *from, uint64_t bytes, kgrade_error *err)
{
    if (bytes == 0)
        return 0;
    DRIVER_TRY(err, cuMemcpyHtoD(at, from, bytes));
    DRIVER_TRY(err, cuCtxSynchronize()); /* the call may return when the bytes are on their way */
    return 0;
}

int device_memory_fetch(uint64_t at, uint64_t bytes, void *to, kgrade_error *err)
{
    if (bytes)
        DRIVER_TRY(err, cuMemcpyDtoH(to, at, bytes));
    return 0;
}
