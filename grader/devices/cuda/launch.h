/* The trusted kernels, loaded, and launching them. */
#ifndef KGRADE_CUDA_LAUNCH_H
#define KGRADE_CUDA_LAUNCH_H

#include "driver.h"
#include "kernels.h"

enum kernel_id {
    KERNEL_FILL,
    KERNEL_POISON,
    KERNEL_CANARY,
    KERNEL_RESTORE,
    KERNEL_EVICT,
    KERNEL_GATE,
    KERNEL_STOP,
    KERNEL_TICKS,
    KERNEL_COPY,
    KERNEL_FMA,
    KERNEL_MMA,
    KERNEL_WGMMA,
    KERNEL_COUNT,
};

struct kernels {
    CUmodule module;
    CUfunction functions[KERNEL_COUNT];
    unsigned int processors; /* multiprocessors of the device */
};

/* Loads them into the current context.  -1 with `device_failed`. */
int kernels_open(struct kernels *ret, const struct driver_context *context, kgrade_error *err);
void kernels_close(struct kernels *kernels);

/* Blocks for an array of `chunks` units of work that threads take turns at: enough to fill the device, no more. */
unsigned int kernels_blocks(const struct kernels *kernels, uint64_t chunks);

/* Where launches go: a stream, or the end of a chain of nodes in a graph that is being made. */
struct launch_target {
    CUstream stream;
    CUgraph graph;    /* NULL: the stream */
    CUgraphNode last; /* of the chain; NULL: empty */
};

/* arguments: one pointer per parameter, in order. */
int kernels_launch(const struct kernels *kernels, enum kernel_id id, unsigned int blocks,
                   unsigned int threads, struct launch_target *target, void **arguments,
                   kgrade_error *err);

#endif
