/* Device memory: mappings of the process, each known, so that a kernel's stray pointer is found. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "double.h"

#define MAX_SPANS 4096
#define GRANULARITY (2u << 20)
/* Where the double puts a reservation that it does not put where it is asked to. */
#define OTHER_ADDRESS ((void *)(uintptr_t)0x510000000000ull)

struct span {
    uintptr_t from;
    size_t bytes;
    bool mapped; /* false: reserved only */
};

struct ihipMemGenericAllocationHandle {
    size_t bytes;
};

static struct span spans[MAX_SPANS];
static size_t n_spans;

static struct span *find(const void *at, size_t bytes)
{
    uintptr_t from = (uintptr_t)at;
    for (size_t i = 0; i < n_spans; i++)
        if (from >= spans[i].from && from - spans[i].from <= spans[i].bytes &&
            bytes <= spans[i].bytes - (from - spans[i].from))
            return &spans[i];
    return NULL;
}

bool memory_is_device(const void *at, size_t bytes)
{
    const struct span *span = find(at, bytes);
    return span && span->mapped;
}

static bool add(void *at, size_t bytes, bool mapped)
{
    if (n_spans == MAX_SPANS)
        return false;
    spans[n_spans++] = (struct span){(uintptr_t)at, bytes, mapped};
    return true;
}

static size_t rounded(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

DOUBLE_API hipError_t hipMalloc(void **ptr, size_t size)
{
    if (device_state())
        return device_state();
    *ptr = NULL;
    if (size == 0)
        return hipSuccess;
    void *at = mmap(NULL, rounded(size), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED || !add(at, size, true))
        return hipErrorOutOfMemory;
    *ptr = at;
    return hipSuccess;
}

DOUBLE_API hipError_t hipFree(void *ptr)
{
    struct span *span = ptr ? find(ptr, 0) : NULL;
    if (!ptr)
        return hipSuccess;
    if (!span || span->from != (uintptr_t)ptr)
        return hipErrorInvalidValue;
    munmap(ptr, rounded(span->bytes));
    *span = spans[--n_spans];
    return hipSuccess;
}

static hipError_t check_copy(const void *to, const void *from, size_t bytes, hipMemcpyKind kind)
{
    bool into = kind == hipMemcpyHostToDevice || kind == hipMemcpyDeviceToDevice;
    bool out = kind == hipMemcpyDeviceToHost || kind == hipMemcpyDeviceToDevice;
    if ((into && !memory_is_device(to, bytes)) || (out && !memory_is_device(from, bytes)))
        return hipErrorInvalidValue;
    return device_state();
}

DOUBLE_API hipError_t hipMemcpy(void *dst, const void *src, size_t sizeBytes, hipMemcpyKind kind)
{
    hipError_t error = check_copy(dst, src, sizeBytes, kind);
    if (!error)
        memmove(dst, src, sizeBytes);
    return error;
}

DOUBLE_API hipError_t hipMemset(void *dst, int value, size_t sizeBytes)
{
    if (!memory_is_device(dst, sizeBytes))
        return hipErrorInvalidValue;
    memset(dst, value, sizeBytes);
    return device_state();
}

DOUBLE_API hipError_t hipMemcpyAsync(void *dst, const void *src, size_t sizeBytes,
                                     hipMemcpyKind kind, hipStream_t stream)
{
    hipError_t error = check_copy(dst, src, sizeBytes, kind);
    const struct hipGraphNode node = {
        .kind = NODE_COPY, .to = dst, .from = src, .bytes = sizeBytes};
    return error ? error : stream_enqueue(stream, &node);
}

static hipError_t fill(void *to, uint32_t value, uint32_t value_bytes, size_t n, hipStream_t stream)
{
    const struct hipGraphNode node = {
        .kind = NODE_FILL, .to = to, .value = value, .value_bytes = value_bytes, .bytes = n};
    if (!memory_is_device(to, n * value_bytes))
        return hipErrorInvalidValue;
    return device_state() ? device_state() : stream_enqueue(stream, &node);
}

DOUBLE_API hipError_t hipMemsetAsync(void *dst, int value, size_t sizeBytes, hipStream_t stream)
{
    return fill(dst, (uint32_t)value & 0xff, 1, sizeBytes, stream);
}

DOUBLE_API hipError_t hipMemsetD16Async(hipDeviceptr_t dest, unsigned short value, size_t count,
                                        hipStream_t stream)
{
    return fill(dest, value, 2, count, stream);
}

DOUBLE_API hipError_t hipMemsetD32Async(hipDeviceptr_t dst, int value, size_t count,
                                        hipStream_t stream)
{
    return fill(dst, (uint32_t)value, 4, count, stream);
}

/* --- mapping at a chosen address --- */

static bool can_map(void)
{
    return !script_has("no_mapping");
}

DOUBLE_API hipError_t hipMemGetAllocationGranularity(size_t *granularity,
                                                     const hipMemAllocationProp *prop,
                                                     hipMemAllocationGranularity_flags option)
{
    (void)prop, (void)option;
    *granularity = GRANULARITY;
    return can_map() ? device_state() : hipErrorNotSupported;
}

DOUBLE_API hipError_t hipMemAddressReserve(void **ptr, size_t size, size_t alignment, void *addr,
                                           unsigned long long flags)
{
    (void)alignment, (void)flags;
    if (!can_map())
        return hipErrorNotSupported;
    if (size == 0 || size % GRANULARITY)
        return hipErrorInvalidValue;
    void *wanted = script_has("other_address") ? OTHER_ADDRESS : addr;
    void *at = mmap(
        wanted, size, PROT_NONE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (wanted ? MAP_FIXED_NOREPLACE : 0), -1, 0);
    if (at == MAP_FAILED || !add(at, size, false))
        return hipErrorOutOfMemory;
    *ptr = at;
    return device_state();
}

DOUBLE_API hipError_t hipMemAddressFree(void *devPtr, size_t size)
{
    struct span *span = find(devPtr, size);
    if (!span || span->mapped)
        return hipErrorInvalidValue;
    munmap(devPtr, size);
    *span = spans[--n_spans];
    return hipSuccess;
}

DOUBLE_API hipError_t hipMemCreate(hipMemGenericAllocationHandle_t *handle, size_t size,
                                   const hipMemAllocationProp *prop, unsigned long long flags)
{
    (void)prop, (void)flags;
    if (!can_map())
        return hipErrorNotSupported;
    if (size == 0 || size % GRANULARITY)
        return hipErrorInvalidValue;
    *handle = calloc(1, sizeof **handle);
    if (!*handle)
        return hipErrorOutOfMemory;
    (*handle)->bytes = size;
    return device_state();
}

DOUBLE_API hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle)
{
    free(handle);
    return hipSuccess;
}

DOUBLE_API hipError_t hipMemMap(void *ptr, size_t size, size_t offset,
                                hipMemGenericAllocationHandle_t handle, unsigned long long flags)
{
    struct span *span = find(ptr, size);
    (void)flags;
    if (!can_map())
        return hipErrorNotSupported;
    if (!span || span->mapped || offset != 0 || size > handle->bytes)
        return hipErrorInvalidValue;
    return device_state();
}

DOUBLE_API hipError_t hipMemUnmap(void *ptr, size_t size)
{
    struct span *span = find(ptr, size);
    if (!span)
        return hipErrorInvalidValue;
    span->mapped = false;
    return mprotect(ptr, size, PROT_NONE) ? hipErrorInvalidValue : hipSuccess;
}

DOUBLE_API hipError_t hipMemSetAccess(void *ptr, size_t size, const hipMemAccessDesc *desc,
                                      size_t count)
{
    struct span *span = find(ptr, size);
    (void)desc;
    if (!can_map())
        return hipErrorNotSupported;
    if (!span || count != 1 || mprotect(ptr, size, PROT_READ | PROT_WRITE))
        return hipErrorInvalidValue;
    span->mapped = true;
    return device_state();
}
