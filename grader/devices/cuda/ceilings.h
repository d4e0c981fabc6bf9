/* What this card can do at most, measured: for the roofline. */
#ifndef KGRADE_CUDA_CEILINGS_H
#define KGRADE_CUDA_CEILINGS_H

#include <jansson.h>

#include "../../task/task.h"
#include "launch.h"

/*
 * {"memory_bytes_per_s": read plus written by a copy far larger than L2,
 *  "cache_bytes_per_s": the same by copies that stay in L2,
 *  "operations_per_s": the highest rate at which this card could do the task's arithmetic: its tensor cores' on bf16, twice
 *                      that for tasks on 8-bit numbers, where the hardware has such a mode; never less than f32_...,
 *  "f32_operations_per_s": single-precision multiply-adds, two operations each}
 * Timed with the host's clock over many launches. New reference; NULL with `device_failed`.
 */
json_t *ceilings_measure(const struct kernels *kernels, const struct driver_context *context,
                         const struct task *task, CUstream stream, kgrade_error *err);

#endif
