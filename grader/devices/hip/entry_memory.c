/* Memory, for candidates: theirs is the arena's workspace. */
#define _GNU_SOURCE
#include <string.h>

#include "entry.h"

static uint64_t number(const void *address)
{
    return (uint64_t)(uintptr_t)address;
}

static hip_error allocate(void **ret, size_t bytes)
{
    ENTRY_LOCK();
    if (!ret)
        return HIP_ERROR_INVALID_VALUE;
    uint64_t address = workspace_allocate(capture.workspace, bytes);
    if (!address) {
        capture_refuse("workspace_exhausted", "Allocate less, or free what a call does not need.",
                       "An allocation of %zu bytes did not fit into the task's workspace of %llu "
                       "bytes.",
                       bytes, (unsigned long long)capture.task->workspace_bytes);
        return HIP_ERROR_OUT_OF_MEMORY;
    }
    *ret = (void *)(uintptr_t)address;
    return HIP_SUCCESS;
}

static hip_error release(void *memory)
{
    ENTRY_LOCK();
    return !memory || workspace_free(capture.workspace, number(memory)) ? HIP_SUCCESS
                                                                        : HIP_ERROR_INVALID_VALUE;
}

ENTRY(hip_error, hipMalloc, (void **ret, size_t bytes))
{
    return entry_done(allocate(ret, bytes));
}

ENTRY(hip_error, hipMallocAsync, (void **ret, size_t bytes, hip_stream stream))
{
    (void)stream;
    return entry_done(allocate(ret, bytes));
}

ENTRY(hip_error, hipFree, (void *memory))
{
    return entry_done(release(memory));
}

ENTRY(hip_error, hipFreeAsync, (void *memory, hip_stream stream))
{
    (void)stream;
    return entry_done(release(memory));
}

ENTRY(hip_error, hipMemGetInfo, (size_t * ret_free, size_t *ret_total))
{
    ENTRY_LOCK();
    uint64_t room, total;
    workspace_room(capture.workspace, &room, &total);
    if (ret_free)
        *ret_free = room;
    if (ret_total)
        *ret_total = total;
    return HIP_SUCCESS;
}

/* --- copies --- */

static bool on_device(const void *address)
{
    return arena_holds(&capture.arena, number(address), 0);
}

static hip_error refuse_host_copy(const char *name)
{
    capture_refuse("host_copy", "Keep what a call needs on the device; read and write only there.",
                   "The call copies between host and device (%s).", name);
    return HIP_ERROR_CAPTURE_UNSUPPORTED;
}

/* A copy that the caller does not wait for. */
static hip_error copy_async(const char *name, void *to, const void *from, size_t bytes, int kind,
                            hip_stream stream)
{
    ENTRY_LOCK();
    struct stream *s = entry_stream(stream);
    if (!s)
        return HIP_ERROR_INVALID_HANDLE;
    if (!capture.writing)
        return hip.hipMemcpyAsync(to, from, bytes, kind, s->handle);
    bool both = kind == HIP_COPY_DEVICE_TO_DEVICE ||
                (kind == HIP_COPY_DEFAULT && on_device(to) && on_device(from));
    return both ? node_copy(s, number(to), number(from), bytes) : refuse_host_copy(name);
}

/* A copy that the caller waits for; it comes after all that was queued before. */
static hip_error copy_and_wait(const char *name, void *to, const void *from, size_t bytes, int kind)
{
    bool waits;
    {
        ENTRY_LOCK();
        waits = !capture.writing;
        if (!waits && entry_wait(name) == ENTRY_WAIT_ABSORBED)
            return on_device(to) && on_device(from)
                       ? node_copy(capture.main, number(to), number(from), bytes)
                       : refuse_host_copy(name);
    }
    if (!waits)
        return HIP_ERROR_CAPTURE_UNSUPPORTED;
    hip_error result = hip.hipDeviceSynchronize();
    return result == HIP_SUCCESS ? hip.hipMemcpy(to, from, bytes, kind) : result;
}

ENTRY(hip_error, hipMemcpy, (void *to, const void *from, size_t bytes, int kind))
{
    return entry_done(copy_and_wait("hipMemcpy", to, from, bytes, kind));
}

ENTRY(hip_error, hipMemcpyHtoD, (void *to, void *from, size_t bytes))
{
    return entry_done(copy_and_wait("hipMemcpyHtoD", to, from, bytes, HIP_COPY_HOST_TO_DEVICE));
}

ENTRY(hip_error, hipMemcpyDtoH, (void *to, void *from, size_t bytes))
{
    return entry_done(copy_and_wait("hipMemcpyDtoH", to, from, bytes, HIP_COPY_DEVICE_TO_HOST));
}

ENTRY(hip_error, hipMemcpyDtoD, (void *to, void *from, size_t bytes))
{
    return entry_done(copy_and_wait("hipMemcpyDtoD", to, from, bytes, HIP_COPY_DEVICE_TO_DEVICE));
}

ENTRY(hip_error, hipMemcpyAsync,
      (void *to, const void *from, size_t bytes, int kind, hip_stream stream))
{
    return entry_done(copy_async("hipMemcpyAsync", to, from, bytes, kind, stream));
}

ENTRY(hip_error, hipMemcpyHtoDAsync, (void *to, void *from, size_t bytes, hip_stream stream))
{
    return entry_done(
        copy_async("hipMemcpyHtoDAsync", to, from, bytes, HIP_COPY_HOST_TO_DEVICE, stream));
}

ENTRY(hip_error, hipMemcpyDtoHAsync, (void *to, void *from, size_t bytes, hip_stream stream))
{
    return entry_done(
        copy_async("hipMemcpyDtoHAsync", to, from, bytes, HIP_COPY_DEVICE_TO_HOST, stream));
}

ENTRY(hip_error, hipMemcpyDtoDAsync, (void *to, void *from, size_t bytes, hip_stream stream))
{
    return entry_done(
        copy_async("hipMemcpyDtoDAsync", to, from, bytes, HIP_COPY_DEVICE_TO_DEVICE, stream));
}

/* --- variables --- */

/* Where a part of a variable lies. */
static hip_error symbol_part(const void *symbol, size_t bytes, size_t offset, uint8_t **ret)
{
    void *address;
    size_t size;
    hip_error result = variable_find(symbol, &address, &size);
    if (result != HIP_SUCCESS)
        return result;
    if (offset > size || bytes > size - offset)
        return HIP_ERROR_INVALID_VALUE;
    *ret = (uint8_t *)address + offset;
    return HIP_SUCCESS;
}

static hip_error symbol_copy(const char *name, const void *symbol, void *other, size_t bytes,
                             size_t offset, bool to_symbol)
{
    uint8_t *at;
    {
        ENTRY_LOCK();
        if (capture.writing)
            return refuse_host_copy(name);
        hip_error found = symbol_part(symbol, bytes, offset, &at);
        if (found != HIP_SUCCESS)
            return found;
    }
    hip_error result = hip.hipDeviceSynchronize();
    if (result != HIP_SUCCESS)
        return result;
    return to_symbol ? hip.hipMemcpy(at, other, bytes, HIP_COPY_DEFAULT)
                     : hip.hipMemcpy(other, at, bytes, HIP_COPY_DEFAULT);
}

ENTRY(hip_error, hipMemcpyToSymbol,
      (const void *symbol, void *from, size_t bytes, size_t offset, int kind))
{
    (void)kind;
    return entry_done(symbol_copy("hipMemcpyToSymbol", symbol, from, bytes, offset, true));
}

/* Waiting for it is allowed, and simpler than keeping the order. */
ENTRY(hip_error, hipMemcpyToSymbolAsync,
      (const void *symbol, void *from, size_t bytes, size_t offset, int kind, hip_stream stream))
{
    (void)kind, (void)stream;
    return entry_done(symbol_copy("hipMemcpyToSymbolAsync", symbol, from, bytes, offset, true));
}

ENTRY(hip_error, hipMemcpyFromSymbol,
      (void *to, const void *symbol, size_t bytes, size_t offset, int kind))
{
    (void)kind;
    return entry_done(symbol_copy("hipMemcpyFromSymbol", symbol, to, bytes, offset, false));
}

ENTRY(hip_error, hipGetSymbolAddress, (void **ret, const void *symbol))
{
    ENTRY_LOCK();
    size_t bytes;
    return entry_done(ret ? variable_find(symbol, ret, &bytes) : HIP_ERROR_INVALID_VALUE);
}

ENTRY(hip_error, hipGetSymbolSize, (size_t * ret, const void *symbol))
{
    ENTRY_LOCK();
    void *address;
    return entry_done(ret ? variable_find(symbol, &address, ret) : HIP_ERROR_INVALID_VALUE);
}

/* --- fills --- */

static hip_error fill(void *to, uint32_t value, uint32_t value_bytes, size_t count,
                      hip_stream stream)
{
    ENTRY_LOCK();
    struct stream *s = entry_stream(stream);
    if (!s || count > SIZE_MAX / value_bytes)
        return HIP_ERROR_INVALID_VALUE;
    if (capture.writing)
        return node_fill(s, number(to), value, value_bytes, count * value_bytes);
    if (value_bytes == 1)
        return hip.hipMemsetAsync(to, (int)value, count, s->handle);
    return value_bytes == 2 ? hip.hipMemsetD16Async(to, (unsigned short)value, count, s->handle)
                            : hip.hipMemsetD32Async(to, (int)value, count, s->handle);
}

ENTRY(hip_error, hipMemset, (void *to, int value, size_t bytes))
{
    return entry_done(fill(to, (uint8_t)value, 1, bytes, NULL));
}

ENTRY(hip_error, hipMemsetAsync, (void *to, int value, size_t bytes, hip_stream stream))
{
    return entry_done(fill(to, (uint8_t)value, 1, bytes, stream));
}

ENTRY(hip_error, hipMemsetD8, (void *to, unsigned char value, size_t count))
{
    return entry_done(fill(to, value, 1, count, NULL));
}

ENTRY(hip_error, hipMemsetD8Async, (void *to, unsigned char value, size_t count, hip_stream stream))
{
    return entry_done(fill(to, value, 1, count, stream));
}

ENTRY(hip_error, hipMemsetD16, (void *to, unsigned short value, size_t count))
{
    return entry_done(fill(to, value, 2, count, NULL));
}

ENTRY(hip_error, hipMemsetD16Async,
      (void *to, unsigned short value, size_t count, hip_stream stream))
{
    return entry_done(fill(to, value, 2, count, stream));
}

ENTRY(hip_error, hipMemsetD32, (void *to, int value, size_t count))
{
    return entry_done(fill(to, (uint32_t)value, 4, count, NULL));
}

ENTRY(hip_error, hipMemsetD32Async, (void *to, int value, size_t count, hip_stream stream))
{
    return entry_done(fill(to, (uint32_t)value, 4, count, stream));
}
