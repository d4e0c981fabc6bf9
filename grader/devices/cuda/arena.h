/*
 * The arena: the device memory that a candidate can reach.  A recorder and a candidate's replayer have one each, at the same
 * address, so that every pointer in a recording means the same in both; the baseline's replayer maps the candidate's buffers, and the
 * judge maps them anywhere: read-only, or, of a foreign task, to write a sample's inputs.
 *
 *   before ARENA_BUFFERS   the workspace, which ends there: what the candidate allocates; as large as it may be
 *   from ARENA_BUFFERS on  the case's buffers, as task_layout places them
 *
 * So no address moves with the sizes of a task's cases or with that of the workspace, and a recording can be replayed in any
 * later arena of its task whose workspace is as large or larger.
 *
 * Only the buffers' memory is shared.  The workspace is each process's own, and only that is mapped of it which a call needs
 * (arena_fit): all of it has to be cleared for every sample, and what is not there can keep nothing from one sample for the next.
 */
#ifndef KGRADE_CUDA_ARENA_H
#define KGRADE_CUDA_ARENA_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "driver.h"

/* Far from what the driver, the C library and the loader use, and below the 47 bits that all devices have. */
#define ARENA_BUFFERS 0x601000000000ull
#define ARENA_MAX_WORKSPACE (64ull << 30)
#define ARENA_GRANULARITY (2ull << 20)
#define ARENA_MAX_BYTES (1ull << 40)
/* Addresses are reserved in multiples of this: the driver serves small reservations from a range of its own and then
 * does not honour the address it is asked for. */
#define ARENA_RESERVATION (4ull << 30)

enum arena_access { ARENA_READ_WRITE, ARENA_READ_ONLY, ARENA_FILL };

/* Sizes are multiples of ARENA_GRANULARITY. */
struct arena {
    CUmemGenericAllocationHandle memory; /* of the buffers */
    CUdeviceptr address; /* where the workspace begins; 0: no addresses are reserved */
    uint64_t bytes;      /* workspace and buffers, mapped or not */
    uint64_t workspace_bytes;
    bool is_mapped; /* the buffers are */
    struct {
        CUmemGenericAllocationHandle memory;
        CUdeviceptr from;
        uint64_t bytes;
    } scratch; /* what is there of the workspace */
    CUdeviceptr reserved_from;
    uint64_t reserved; /* addresses, a multiple of ARENA_RESERVATION */
    int memory_fd;     /* of the buffers; the owner's only, else -1 */
};

/* Makes the buffers' memory and maps it from ARENA_BUFFERS on; nothing of the workspace.  case_bytes: of the largest case's
 * buffers.  -1 with `arena_failed`. */
int arena_create(struct arena *ret, const struct driver_context *context, uint64_t workspace_bytes,
                 uint64_t case_bytes, kgrade_error *err);

/* The descriptor to hand to other processes; owned by the caller. -1 with `arena_failed`. */
int arena_export(const struct arena *arena, int *ret_fd, kgrade_error *err);

/* Maps an arena made elsewhere: around ARENA_BUFFERS to work in it, anywhere to read from it or to fill in inputs.  The
 * descriptor stays the caller's.  -1 with `arena_failed`. */
int arena_import(struct arena *ret, const struct driver_context *context, int fd,
                 enum arena_access access, kgrade_error *err);

/* Maps these bytes of the workspace, in whole pieces of ARENA_GRANULARITY, and nothing else of it.  Their contents are
 * undefined.  Nothing may be at work in the arena.  -1 with `arena_failed`; then nothing of the workspace is mapped. */
int arena_fit(struct arena *arena, const struct driver_context *context, CUdeviceptr from,
              uint64_t bytes, kgrade_error *err);

/* Queues zeros for what is mapped of the workspace, and for that and the buffers.  -1 with `device_failed`. */
int arena_clear_scratch(const struct arena *arena, CUstream stream, kgrade_error *err);
int arena_clear(const struct arena *arena, CUstream stream, kgrade_error *err);

void arena_close(struct arena *arena);

/* The address of a layout's offset 0, and how many bytes a case may have. */
static inline CUdeviceptr arena_buffers(const struct arena *arena)
{
    return arena->address + arena->workspace_bytes;
}
static inline uint64_t arena_case_bytes(const struct arena *arena)
{
    return arena->bytes - arena->workspace_bytes;
}

#endif
