/*
 * The guard's measurement: replays back to back, each on inputs of its own, for whoever times all of it by a clock that no device
 * code can reach.  The same without the candidate's nodes is what has to be taken off.
 *
 * Everything is one graph, so that the host's part is one launch:
 *     clear, inputs(seed 0), restore -> gate, open -> the candidate -> stop -> clear, inputs(seed 1), ...
 */
#ifndef KGRADE_CUDA_BATCH_H
#define KGRADE_CUDA_BATCH_H

#include "inputs.h"
#include "rebuild.h"
#include "restore.h"

#define BATCH_MAX_NODES 8192u /* a graph of more takes too long to be made */

struct batch_request {
    const struct rebuild_place *place;
    const struct task *task;
    const struct layout *layout;
    const struct rebuilt *middle; /* the call, or the empty one */
    const struct restore *restore;
    size_t n;
    uint64_t seed, poison; /* of the last replay; the others' are made from them */
};

struct batch {
    CUgraph graph;
    CUgraphExec exec; /* NULL: there is none */
};

/* Instantiated and uploaded.  *ret_n: how many replays it has, fewer than asked for where the call has many nodes; 0 for none.
 * -1 with the errors of gate.h. */
int batch_open(struct batch *ret, const struct batch_request *request, CUstream stream,
               size_t *ret_n, kgrade_error *err);
void batch_close(struct batch *batch);

/* Launches it and waits for its end.  The same errors. */
int batch_run(const struct batch *batch, struct gate *gate, CUstream stream, kgrade_error *err);

#endif
