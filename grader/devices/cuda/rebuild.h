/*
 * From a recording's call back to a graph that can be launched: modules loaded, functions found by image and name,
 * nodes and edges as recorded, between the gate and the stop stamp.  What a recording says is checked before it reaches
 * the driver.
 */
#ifndef KGRADE_CUDA_REBUILD_H
#define KGRADE_CUDA_REBUILD_H

#include "../../recording.h"
#include "arena.h"
#include "gate.h"
#include "launch.h"

struct loaded_image {
    bool used;
    CUmodule module;
};

struct rebuilt {
    struct loaded_image *
        images; /* one per image of the recording; those that the call does not use are not loaded */
    size_t n_images;
    CUgraph graph;
    CUgraphExec exec;
};

struct rebuild_place {
    const struct driver_context *context;
    const struct arena *arena;
    const struct kernels *kernels;
    const struct gate *gate;
};

/* Instantiated and uploaded.  -1 with `recording_invalid` or `device_failed`. */
int rebuild_call(struct rebuilt *ret, const struct rebuild_place *place,
                 const struct recording *recording, const struct recording_call *call,
                 CUstream stream, kgrade_error *err);

/* The same with nothing between gate and stop: for the floor. */
int rebuild_empty(struct rebuilt *ret, const struct rebuild_place *place, CUstream stream,
                  kgrade_error *err);

void rebuilt_close(struct rebuilt *rebuilt);

#endif
