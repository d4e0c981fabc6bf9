#define _GNU_SOURCE
#include "arena.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "parcel.h"

/* Which addresses to reserve: where they are wanted, in whole pieces around the place. */
static int reserve(struct arena *arena, bool anywhere, kgrade_error *err)
{
    CUdeviceptr place = anywhere ? 0 : ARENA_BUFFERS - arena->workspace_bytes;
    CUdeviceptr wanted = place / ARENA_RESERVATION * ARENA_RESERVATION, got = 0;
    uint64_t end = place + arena->bytes - wanted,
             bytes = (end + ARENA_RESERVATION - 1) / ARENA_RESERVATION * ARENA_RESERVATION;
    CUresult result = cuMemAddressReserve(&got, bytes, 0, wanted, 0);
    if (result != CUDA_SUCCESS)
        return driver_fail(err, "arena_failed", result, "Reserving addresses for the arena");
    if (wanted && got != wanted) {
        cuMemAddressFree(got, bytes);
        return fail(err, "arena_failed",
                    "Report the driver's version: it must honour the address it is asked for.",
                    "The arena was placed at %#llx instead of %#llx.", (unsigned long long)got,
                    (unsigned long long)wanted);
    }
    arena->reserved_from = got;
    arena->reserved = bytes;
    arena->address = anywhere ? got : place;
    return 0;
}

/* All of the memory, at these addresses: parts of one cannot be mapped. */
static int map(CUmemGenericAllocationHandle memory, CUdeviceptr at, uint64_t bytes,
               const struct driver_context *context, bool read_only, kgrade_error *err)
{
    CUresult result = cuMemMap(at, bytes, 0, memory, 0);
    if (result != CUDA_SUCCESS)
        return driver_fail(err, "arena_failed", result, "Mapping the arena");
    CUmemAccessDesc description = {
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = context->device},
        .flags = read_only ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    result = cuMemSetAccess(at, bytes, &description, 1);
    if (read_only && result != CUDA_SUCCESS) {
        /* Not every device can map memory read-only. Whoever asked for it only reads. */
        driver_trace("the arena cannot be mapped read-only (%d)", (int)result);
        description.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        result = cuMemSetAccess(at, bytes, &description, 1);
    }
    if (result == CUDA_SUCCESS)
        return 0;
    cuMemUnmap(at, bytes);
    return driver_fail(err, "arena_failed", result, "Opening the arena for access");
}

static int open_mapping(struct arena *arena, const struct driver_context *context,
                        enum arena_access access, kgrade_error *err)
{
    CUdeviceptr at;
    if (reserve(arena, access != ARENA_READ_WRITE, err))
        return -1;
    at = arena_buffers(arena);
    if (map(arena->memory, at, arena_case_bytes(arena), context, access == ARENA_READ_ONLY, err))
        return -1;
    arena->is_mapped = true;
    driver_trace("buffers of %llu bytes at %#llx", (unsigned long long)arena_case_bytes(arena),
                 (unsigned long long)at);
    return 0;
}

static uint64_t whole(uint64_t bytes)
{
    return (bytes + ARENA_GRANULARITY - 1) / ARENA_GRANULARITY * ARENA_GRANULARITY;
}

static CUmemAllocationProp properties(const struct driver_context *context)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = context->device},
    };
}

static int check_granularity(const CUmemAllocationProp *wanted, kgrade_error *err)
{
    size_t granularity = 0;
    CUresult result =
        cuMemGetAllocationGranularity(&granularity, wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (result != CUDA_SUCCESS)
        return driver_fail(err, "arena_failed", result,
                           "Asking for the granularity of device memory");
    if (granularity == 0 || ARENA_GRANULARITY % granularity)
        return fail(err, "arena_failed", NULL,
                    "Device memory comes in pieces of %zu bytes here, not of %llu.", granularity,
                    ARENA_GRANULARITY);
    return 0;
}

int arena_create(struct arena *ret, const struct driver_context *context, uint64_t workspace_bytes,
                 uint64_t case_bytes, kgrade_error *err)
{
    const CUmemAllocationProp wanted = properties(context);
    if (case_bytes == 0 || case_bytes > ARENA_MAX_BYTES / 2 ||
        workspace_bytes > ARENA_MAX_WORKSPACE)
        return fail(err, "arena_failed", NULL,
                    "An arena cannot have %llu bytes and a workspace of %llu.",
                    (unsigned long long)case_bytes, (unsigned long long)workspace_bytes);
    if (check_granularity(&wanted, err))
        return -1;
    struct arena arena = {.memory_fd = -1};
    arena.workspace_bytes = whole(workspace_bytes);
    arena.bytes = arena.workspace_bytes + whole(case_bytes);
    CUresult result = cuMemCreate(&arena.memory, arena_case_bytes(&arena), &wanted, 0);
    if (result != CUDA_SUCCESS)
        return driver_fail(err, "arena_failed", result, "Making the arena's memory");
    result = cuMemExportToShareableHandle(&arena.memory_fd, arena.memory,
                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (result != CUDA_SUCCESS) {
        arena.memory_fd = -1;
        driver_fail(err, "arena_failed", result, "Exporting the arena's memory");
        arena_close(&arena);
        return -1;
    }
    if (open_mapping(&arena, context, ARENA_READ_WRITE, err)) {
        arena_close(&arena);
        return -1;
    }
    *ret = arena;
    return 0;
}

int arena_export(const struct arena *arena, int *ret_fd, kgrade_error *err)
{
    const struct parcel parcel = {arena->bytes, arena->workspace_bytes};
    return parcel_pack(&parcel, arena->memory_fd, ret_fd, err);
}

int arena_import(struct arena *ret, const struct driver_context *context, int fd,
                 enum arena_access access, kgrade_error *err)
{
    struct parcel parcel;
    cleanup_close int memory = -1;
    if (parcel_open(fd, &parcel, &memory, err))
        return -1;
    if (parcel.bytes == 0 || parcel.bytes > ARENA_MAX_BYTES || parcel.bytes % ARENA_GRANULARITY ||
        parcel.workspace_bytes >= parcel.bytes || parcel.workspace_bytes > ARENA_MAX_WORKSPACE ||
        parcel.workspace_bytes % ARENA_GRANULARITY)
        return fail(err, "arena_failed", NULL,
                    "An arena cannot have %llu bytes and a workspace of %llu.",
                    (unsigned long long)parcel.bytes, (unsigned long long)parcel.workspace_bytes);
    struct arena arena = {
        .bytes = parcel.bytes, .workspace_bytes = parcel.workspace_bytes, .memory_fd = -1};
    if (access != ARENA_READ_WRITE) { /* elsewhere there is no workspace */
        arena.bytes -= arena.workspace_bytes;
        arena.workspace_bytes = 0;
    }
    CUresult result = cuMemImportFromShareableHandle(&arena.memory, (void *)(intptr_t)memory,
                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    if (result != CUDA_SUCCESS)
        return driver_fail(err, "arena_failed", result, "Importing the arena's memory");
    if (open_mapping(&arena, context, access, err)) {
        arena_close(&arena);
        return -1;
    }
    *ret = arena;
    return 0;
}

static void drop_scratch(struct arena *arena)
{
    if (arena->scratch.bytes)
        cuMemUnmap(arena->scratch.from, arena->scratch.bytes);
    if (arena->scratch.memory)
        cuMemRelease(arena->scratch.memory);
    memset(&arena->scratch, 0, sizeof arena->scratch);
}

int arena_fit(struct arena *arena, const struct driver_context *context, CUdeviceptr from,
              uint64_t bytes, kgrade_error *err)
{
    const CUmemAllocationProp wanted = properties(context);
    CUdeviceptr start = bytes ? from / ARENA_GRANULARITY * ARENA_GRANULARITY : 0;
    uint64_t size = 0;
    if (bytes && (start < arena->address || from >= arena_buffers(arena) ||
                  bytes > arena_buffers(arena) - from))
        return fail(err, "arena_failed", NULL, "A call needs memory that is not the arena's.");
    if (bytes)
        size = whole(bytes + (from - start));
    if (start == arena->scratch.from && size == arena->scratch.bytes)
        return 0;
    drop_scratch(arena);
    if (size == 0)
        return 0;
    CUresult result = cuMemCreate(&arena->scratch.memory, size, &wanted, 0);
    if (result != CUDA_SUCCESS)
        return driver_fail(err, "arena_failed", result, "Making the workspace's memory");
    if (map(arena->scratch.memory, start, size, context, false, err)) {
        drop_scratch(arena);
        return -1;
    }
    arena->scratch.from = start;
    arena->scratch.bytes = size;
    return 0;
}

int arena_clear_scratch(const struct arena *arena, CUstream stream, kgrade_error *err)
{
    if (arena->scratch.bytes)
        DRIVER_TRY(err, cuMemsetD8Async(arena->scratch.from, 0, arena->scratch.bytes, stream));
    return 0;
}

int arena_clear(const struct arena *arena, CUstream stream, kgrade_error *err)
{
    if (arena_clear_scratch(arena, stream, err))
        return -1;
    DRIVER_TRY(err, cuMemsetD8Async(arena_buffers(arena), 0, arena_case_bytes(arena), stream));
    return 0;
}

void arena_close(struct arena *arena)
{
    if (arena->is_mapped)
        cuMemUnmap(arena_buffers(arena), arena_case_bytes(arena));
    drop_scratch(arena);
    if (arena->address)
        cuMemAddressFree(arena->reserved_from, arena->reserved);
    if (arena->memory)
        cuMemRelease(arena->memory);
    if (arena->memory_fd >= 0)
        close(arena->memory_fd);
    *arena = (struct arena){.memory_fd = -1};
}
