/* A task's reference at work on the device: judge/worker.h's struct judge_reference for CUDA. */
#ifndef KGRADE_CUDA_JUDGE_REFERENCE_H
#define KGRADE_CUDA_JUDGE_REFERENCE_H

#include "../../judge/worker.h"
#include "../../task/call.h"
#include "judge_compare.h"
#include "launch.h"

struct device_reference {
    const struct task *task; /* borrowed */
    CUstream stream;         /* borrowed */
    struct kernels kernels;  /* draw the inputs */
    struct comparer comparer;
    struct call *call;
    void (*function)(void);
};

/* The outputs of one sample. */
struct device_outputs;

/* Before all others: freed memory stays in the device's pool, and the pool has its first, which takes long to get. */
void device_reference_ready_memory(const struct driver_context *context, CUstream stream);

/* `reference_cuda` of the shared object, which stays loaded.  Task and stream are borrowed.  -1 with `reference_failed` or
 * `device_failed`. */
int device_reference_open(struct device_reference *ret, const struct driver_context *context,
                          CUstream stream, const struct task *task, int library_fd,
                          kgrade_error *err);
void device_reference_close(struct device_reference *reference);

/* These four are what judge/worker.h says.  buffers: the address of the layout's offset 0 in the arena. */
int device_reference_evaluate(const struct device_reference *reference, const struct judge_case *c,
                              void *const *wide, kgrade_error *err);
int device_reference_keep(const struct device_reference *reference, const struct judge_case *c,
                          CUdeviceptr buffers, struct device_outputs **ret, bool *ret_changed,
                          kgrade_error *err);
int device_reference_compare(const struct device_reference *reference, const struct judge_case *c,
                             const struct device_outputs *kept, struct comparison *ret,
                             kgrade_error *err);
void device_reference_drop(const struct device_reference *reference, struct device_outputs *kept);

#endif
