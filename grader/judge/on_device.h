/* A foreign task's samples judged in the device's memory: as host.c and compare.c do it, by the same rules. */
#ifndef KGRADE_JUDGE_ON_DEVICE_H
#define KGRADE_JUDGE_ON_DEVICE_H

#include "worker.h"

struct on_device {
    const struct judge_memory *memory; /* NULL: everything goes through the host */
    void *state;                       /* of the judge's device; borrowed, as all here */
    const struct task *task;
    const struct judge_python *python;
};

/* Makes a sample's inputs where the case has them in the arena. */
int on_device_fill(const struct on_device *d, const struct judge_case *c, kgrade_error *err);

/* Copies a case out of the arena; *ret_kept: for on_device_drop.  -1 with `judge_memory` when there is no room for it. */
int on_device_keep(const struct on_device *d, const struct judge_case *c, uint64_t *ret_kept,
                   kgrade_error *err);

/* The same bytes in the host's memory, by offset; the caller frees. */
int on_device_bring(const struct on_device *d, const struct judge_case *c, uint64_t kept,
                    uint8_t **ret, kgrade_error *err);

void on_device_drop(const struct on_device *d, uint64_t kept);

struct on_device_verdict {
    bool input_changed;
    bool decided, right; /* the task's own check has said whether the outputs are right */
};

/* Makes the inputs again, runs the reference and compares with what was kept.  comparisons: by index in the layout; inputs are left out.
 * -1 with `judge_memory` when there is no room for it: nothing has been decided then. */
int on_device_judge(const struct on_device *d, const struct judge_case *c, uint64_t kept,
                    struct comparison *comparisons, struct on_device_verdict *ret,
                    kgrade_error *err);

#endif
