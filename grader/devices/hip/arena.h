/*
 * The arena: the device memory that a candidate can reach.  Recorder and replayer have one each:
 *
 *   offset 0               the workspace: what the candidate allocates; as large as its task allows
 *   behind the workspace   the case's buffers, as task_layout places them
 *
 * A recording's addresses are those of an arena at ARENA_HOME.  Where the runtime can map memory there, pointers mean the same in both
 * processes.  Where it cannot, an arena lies anywhere, and pointers are moved between the two where it is known that they are
 * such: in arguments that a kernel declares as pointers.  Anything else that could be a pointer is refused there.
 */
#ifndef KGRADE_HIP_ARENA_H
#define KGRADE_HIP_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../sandbox/base/error.h"

/* Far from what the C library, the loader, the runtime and sanitizers use, and within the 47 bits that all devices have. */
#define ARENA_HOME 0x300000000000ull
#define ARENA_GRANULARITY (2ull << 20)
#define ARENA_MAX_BYTES (1ull << 40)

struct arena {
    uint64_t address; /* 0: none */
    uint64_t bytes;   /* all of it */
    uint64_t workspace_bytes;
    void *memory; /* a handle of the runtime's; NULL: from hipMalloc */
};

/* Errors: `arena_failed`. */
int arena_create(struct arena *ret, uint64_t workspace_bytes, uint64_t case_bytes,
                 kgrade_error *err);
void arena_close(struct arena *arena);

/* Whether its addresses are a recording's. */
static inline bool arena_is_home(const struct arena *arena)
{
    return arena->address == ARENA_HOME;
}

/* The address of a layout's offset 0, and how many bytes a case may have. */
static inline uint64_t arena_buffers(const struct arena *arena)
{
    return arena->address + arena->workspace_bytes;
}
static inline uint64_t arena_case_bytes(const struct arena *arena)
{
    return arena->bytes - arena->workspace_bytes;
}

/* An address in the arena, or just behind it, as a recording has it, and back.  Others stay as they are. */
uint64_t arena_to_recording(const struct arena *arena, uint64_t address);
uint64_t arena_from_recording(const struct arena *arena, uint64_t address);

/* Whether a range lies in the arena. */
bool arena_holds(const struct arena *arena, uint64_t address, uint64_t bytes);

/* Whether one of the words of eight bytes, at multiples of four, could be an address in [from, from + bytes]. */
bool arena_could_point(const void *data, size_t size, uint64_t from, uint64_t bytes);

#endif
