/*
 * Work between replays.
 *
 * A confined replayer can start no thread, but a kernel could keep one of the runtime's, by enqueueing a kernel of its
 * own that goes on.  So what the runtime's threads take of the CPU from the end of one replay to the start of the next is
 * looked at; they wake once to be done with a command, and sleep.  A replay that follows upon more does not count, and
 * many of them in a row are no chance.
 *
 * Measured on two cores: nothing in every second replay, below 15 us in 95 of 100, 70 us at most.
 */
#ifndef KGRADE_OPENCL_STRAY_H
#define KGRADE_OPENCL_STRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "../../../sandbox/base/error.h"

#define STRAY_NS 20000u /* of CPU time, of one thread */
#define STRAY_MAX 32u   /* in a row */
#define STRAY_MAX_THREADS 1024u

struct stray {
    clockid_t clocks[STRAY_MAX_THREADS]; /* CPU time of each thread but the one that looks */
    uint64_t ended[STRAY_MAX_THREADS];   /* what they said when the last replay ended, ns */
    size_t n_clocks;
    bool replayed; /* since stray_forget */
    unsigned in_a_row;
};

/* From here on the threads that there are now are watched; before, nothing is found.  -1 with `confine_failed`. */
int stray_watch(struct stray *stray, kgrade_error *err);

/* At the end of a replay. */
void stray_expect_none(struct stray *stray);

/* Before what may take time of its own. */
void stray_forget(struct stray *stray);

/* Right before a replay starts: whether there was work since the last one, and how many ns of it the busiest thread had.
 * -1 with `replay_left_work` at the STRAY_MAXth in a row. */
int stray_look(struct stray *stray, bool *ret_found, uint64_t *ret_ns, kgrade_error *err);

#endif
