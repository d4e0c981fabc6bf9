/* The judge's kernels, loaded, and what they find out. */
#ifndef KGRADE_CUDA_JUDGE_COMPARE_H
#define KGRADE_CUDA_JUDGE_COMPARE_H

#include "../../judge/compare.h"
#include "driver.h"
#include "judge_kernels.h"

struct comparer {
    CUmodule module;
    CUfunction differ, widen, compare;
    CUstream stream;          /* borrowed */
    CUdeviceptr results;      /* what the kernels find, one at a time */
    struct compare_part *got; /* the same on the host */
};

/* Everything runs on the stream.  -1 with `device_failed`. */
int comparer_open(struct comparer *ret, CUstream stream, kgrade_error *err);
void comparer_close(struct comparer *comparer);

/* Whether two ranges hold the same bytes; both begin at multiples of 16.  Waits. */
int comparer_same(const struct comparer *comparer, CUdeviceptr a, CUdeviceptr b, uint64_t bytes,
                  bool *ret, kgrade_error *err);

/* Queues: count elements to double or int64_t. */
int comparer_widen(const struct comparer *comparer, enum dtype type, CUdeviceptr from,
                   CUdeviceptr to, uint64_t count, kgrade_error *err);

/* compare_output of judge/compare.h, with addresses of the device's memory; poison 0: there was none. Waits.  The same
 * figures come out, but for the rounding of the norm. */
int comparer_output(const struct comparer *comparer, enum dtype type, CUdeviceptr got,
                    CUdeviceptr poison, CUdeviceptr expected, uint64_t count,
                    const struct tolerance *tolerance, struct comparison *ret, kgrade_error *err);

/* Adds the worst element's neighbours to the figures of an output that is wrong.  Waits. */
int comparer_around(const struct comparer *comparer, enum dtype type, CUdeviceptr got,
                    CUdeviceptr expected, struct comparison *ret, kgrade_error *err);

#endif
