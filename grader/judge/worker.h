/*
 * The judge: a process that computes what the answer should have been and compares.  No candidate code, host or device,
 * ever runs in it; the arena is mapped read-only; outputs are bytes to be compared.
 *
 * Messages (wire.h), grader -> judge, one answer each:
 *   {"op":"open","task":TEXT} + arena descriptor   -> {"ok":true}
 *   {"op":"reference"} + reference.so as a descriptor -> {"ok":true}
 *   {"op":"snapshot","dims":[..],"seed":"HEX","poison":"HEX"}
 *                                                  -> {"ok":true,"id":n}   copies the case out of the arena
 *   {"op":"judge","id":n}                          -> {"ok":true,"pass":bool,"code":..,"correctness":{..}}
 *   failure                                        -> {"ok":false,"code":..,"message":..,"hint":..}
 */
#ifndef KGRADE_JUDGE_WORKER_H
#define KGRADE_JUDGE_WORKER_H

#include "../task/task.h"

struct judge_device {
    const char *name;

    /* NULL function: nothing.  What can be made before anything is known of the grade (context): called as soon
     * as the process runs, which may be long before it is needed. */
    int (*start)(kgrade_error *err);
    /* Maps the arena read-only. */
    int (*attach)(int arena_fd, void **ret_state, kgrade_error *err);
    /* Copies bytes of the arena to host memory. */
    int (*read)(void *state, uint64_t offset, uint64_t bytes, void *to, kgrade_error *err);
    void (*detach)(void *state);
};

int judge_worker_main(const struct judge_device *device);

#endif
