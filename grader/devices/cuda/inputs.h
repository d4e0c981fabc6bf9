/*
 * The values of a case, made on the device: inputs from a seed, outputs and canaries from a poison seed; bit for
 * bit what task/values.h describes, so that the judge can draw them again.
 */
#ifndef KGRADE_CUDA_INPUTS_H
#define KGRADE_CUDA_INPUTS_H

#include "../../task/task.h"
#include "launch.h"

/* Queues or adds the work; nothing waits.  base: address of the layout's offset 0. */
int inputs_queue(const struct kernels *kernels, struct launch_target *target, CUdeviceptr base,
                 const struct task *task, const struct layout *layout, uint64_t seed,
                 uint64_t poison, kgrade_error *err);

/* The same for all but the inputs, which were made elsewhere and stay. */
int inputs_queue_around(const struct kernels *kernels, struct launch_target *target,
                        CUdeviceptr base, const struct task *task, const struct layout *layout,
                        uint64_t poison, kgrade_error *err);

/* The kernels' arguments for one buffer of a layout. */
struct kernels_fill inputs_fill(CUdeviceptr base, const struct param *param,
                                const struct layout_buffer *buffer, uint64_t seed);
struct kernels_poison inputs_poison(CUdeviceptr base, const struct param *param,
                                    const struct layout_buffer *buffer, uint64_t poison);
struct kernels_canary inputs_canary(CUdeviceptr base, const struct layout_buffer *buffer,
                                    uint64_t poison);

#endif
