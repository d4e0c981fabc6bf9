/* The built-in tasks with small cases: what is tested here does not need large ones, and takes a tenth of the time.  "short_add" is
 * vector_add with two cases and none hidden, for attacks that need no more; "short_softmax" and "short_matmul" likewise; "timed_add"
 * is one whose kernels take long enough to be compared; "sized_add" has one hidden case. */
#ifndef ATTACKS_SMALL_TASKS_H
#define ATTACKS_SMALL_TASKS_H

#include "bait.h"

/* Makes bait->folder/tasks with a copy of each task, and puts bait->reference into each reference.  Exits on failure. */
void small_tasks_make(const struct bait *bait);
void small_tasks_remove(const struct bait *bait);

#endif
