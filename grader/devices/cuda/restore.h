/*
 * What a replay must find as the recorded call would have found it: the contents of the candidate's own memory and the
 * variables of its modules.  Kept in device memory outside the arena and put back before every sample, into a workspace that
 * has been cleared, so that no replay hands anything on to the next.
 */
#ifndef KGRADE_CUDA_RESTORE_H
#define KGRADE_CUDA_RESTORE_H

#include "rebuild.h"

#define RESTORE_MAX_BYTES (16ull << 30) /* variables and contents together */
#define RESTORE_MAX_RANGES 65536u

struct restore {
    CUdeviceptr store; /* copies of everything that is not zero */
    CUdeviceptr table; /* struct kernels_range, `n` of them */
    uint32_t n;
    uint64_t bytes; /* that a restore writes */
};

/* Checks and loads the recording's values, writes them once, and remembers how to write them again.  -1 with
 * `recording_invalid` or `device_failed`. */
int restore_open(struct restore *ret, const struct rebuild_place *place,
                 const struct rebuilt *rebuilt, const struct recording *recording,
                 const struct recording_call *call, CUstream stream, kgrade_error *err);
void restore_close(struct restore *restore);

/* Queues or adds the work. */
int restore_queue(const struct restore *restore, const struct kernels *kernels,
                  struct launch_target *target, kgrade_error *err);

#endif
