/*
 * The guard's measurement: many replays back to back, each on inputs of its own, timed as a whole by the host's clock,
 * which no device code can reach.  The same is timed without the candidate; what is left over is the candidate's.
 *
 * Everything is one graph, so that the host's part is one launch:
 *     inputs(seed 0) -> restore -> gate, open -> the candidate -> stop -> inputs(seed 1) -> ...
 */
#ifndef KGRADE_CUDA_BATCH_H
#define KGRADE_CUDA_BATCH_H

#include "inputs.h"
#include "restore.h"

#define BATCH_MAX_REPLAYS 256u

struct batch_request {
    const struct rebuild_place *place;
    const struct task *task;
    const struct layout *layout;
    const struct rebuilt *middle; /* the call, or the empty one */
    const struct restore *restore;
    const uint64_t *seeds;
    size_t n;
    uint64_t poison; /* of the last replay; the others' are made from it */
};

/* *ret_ns: from the launch to the end.  -1 with the errors of gate.h, or `batch_too_large`. */
int batch_run(const struct batch_request *request, struct gate *gate, CUstream stream,
              uint64_t *ret_ns, kgrade_error *err);

#endif
