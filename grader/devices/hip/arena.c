#include "arena.h"

#include <string.h>

#include "../../../sandbox/base/fail.h"
#include "runtime.h"

static uint64_t whole(uint64_t bytes)
{
    return (bytes + ARENA_GRANULARITY - 1) / ARENA_GRANULARITY * ARENA_GRANULARITY;
}

/* At ARENA_HOME, or anywhere.  Nothing is left behind on failure. */
static hip_error map(struct arena *arena)
{
    const hip_location location = {.type = HIP_LOCATION_DEVICE, .id = 0};
    const hip_allocation wanted = {.type = HIP_ALLOCATION_PINNED, .location = location};
    const hip_access access = {.location = location, .flags = HIP_ACCESS_READ_WRITE};
    size_t granularity = 0;
    void *got = NULL, *home = (void *)(uintptr_t)ARENA_HOME;
    hip_error result = hip.hipMemGetAllocationGranularity(&granularity, &wanted, 0);
    if (result != HIP_SUCCESS || granularity == 0 || ARENA_GRANULARITY % granularity)
        return result != HIP_SUCCESS ? result : HIP_ERROR_NOT_SUPPORTED;
    result = hip.hipMemAddressReserve(&got, arena->bytes, 0, home, 0);
    if (result != HIP_SUCCESS)
        return result;
    result = hip.hipMemCreate(&arena->memory, arena->bytes, &wanted, 0);
    if (result == HIP_SUCCESS) {
        result = hip.hipMemMap(got, arena->bytes, 0, arena->memory, 0);
        if (result == HIP_SUCCESS) {
            result = hip.hipMemSetAccess(got, arena->bytes, &access, 1);
            if (result == HIP_SUCCESS) {
                arena->address = (uint64_t)(uintptr_t)got;
                return HIP_SUCCESS;
            }
            hip.hipMemUnmap(got, arena->bytes);
        }
        hip.hipMemRelease(arena->memory);
    }
    arena->memory = NULL;
    hip.hipMemAddressFree(got, arena->bytes);
    return result;
}

int arena_create(struct arena *ret, uint64_t workspace_bytes, uint64_t case_bytes,
                 kgrade_error *err)
{
    if (case_bytes == 0 || case_bytes > ARENA_MAX_BYTES / 2 ||
        workspace_bytes > ARENA_MAX_BYTES / 2)
        return fail(err, "arena_failed", NULL,
                    "An arena cannot have %llu bytes and a workspace of %llu.",
                    (unsigned long long)case_bytes, (unsigned long long)workspace_bytes);
    struct arena arena = {.workspace_bytes = whole(workspace_bytes)};
    arena.bytes = arena.workspace_bytes + whole(case_bytes);
    hip_error mapped = hip.can_map ? map(&arena) : HIP_ERROR_NOT_SUPPORTED;
    if (mapped != HIP_SUCCESS) {
        void *memory = NULL;
        runtime_trace("no memory at a chosen address (%d)", mapped);
        hip_error result = hip.hipMalloc(&memory, arena.bytes);
        if (result != HIP_SUCCESS)
            return runtime_fail(err, "arena_failed", result, "Making the arena's memory");
        arena.address = (uint64_t)(uintptr_t)memory;
    }
    runtime_trace("arena of %llu bytes at %#llx", (unsigned long long)arena.bytes,
                  (unsigned long long)arena.address);
    *ret = arena;
    return 0;
}

void arena_close(struct arena *arena)
{
    void *at = (void *)(uintptr_t)arena->address;
    if (arena->memory) {
        hip.hipMemUnmap(at, arena->bytes);
        hip.hipMemRelease(arena->memory);
        hip.hipMemAddressFree(at, arena->bytes);
    } else if (at) {
        hip.hipFree(at);
    }
    *arena = (struct arena){0};
}

static uint64_t move(uint64_t address, uint64_t from, uint64_t to, uint64_t bytes)
{
    return address >= from && address - from <= bytes ? address - from + to : address;
}

uint64_t arena_to_recording(const struct arena *arena, uint64_t address)
{
    return move(address, arena->address, ARENA_HOME, arena->bytes);
}

uint64_t arena_from_recording(const struct arena *arena, uint64_t address)
{
    return move(address, ARENA_HOME, arena->address, arena->bytes);
}

bool arena_holds(const struct arena *arena, uint64_t address, uint64_t bytes)
{
    return address >= arena->address && bytes <= arena->bytes &&
           address - arena->address <= arena->bytes - bytes;
}

bool arena_could_point(const void *data, size_t size, uint64_t from, uint64_t bytes)
{
    for (size_t i = 0; size >= 8 && i <= size - 8; i += 4) {
        uint64_t word;
        memcpy(&word, (const uint8_t *)data + i, sizeof word);
        if (word >= from && word - from <= bytes)
            return true;
    }
    return false;
}
