/* The record step, seen from outside the jail. */
#ifndef KGRADE_RECORD_H
#define KGRADE_RECORD_H

#include "../grade/engine.h"

/* Host overhead of the launch path in one case; reported, never scored.  The recorder measures it in the
 * candidate's own process, so a candidate can make it look better than it is. */
struct host_overhead {
    uint64_t cold_ns; /* first call in this case */
    double warm_ns;   /* median of the warm calls */
    double warm_p90_ns;
    unsigned calls;
};

struct record_request {
    const struct device *device;
    const struct task *task;
    const struct task_case *cases;
    size_t n_cases;
    unsigned warm_calls;
    bool secret;  /* hidden cases: nothing that the candidate says or does may come back */
    int arena_fd; /* -1 unless the device shares it */
    const struct bytes *library; /* the built candidate */
};

/* Records one call per case in a jail of its own and waits until everything in it is dead.  `overheads` has room
 * for n_cases.  progress may be NULL; it is called before each case. Cases whose dims `recording` already has are skipped. */
typedef bool (*record_progress)(void *data, size_t done);
int record_cases(kgrade *engine, const struct record_request *request, struct recording *recording,
                 struct host_overhead *overheads, record_progress progress, void *data,
                 struct finding *finding);

#endif
