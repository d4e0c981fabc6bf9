/* Condition variables whose deadlines are those of io.h: CLOCK_MONOTONIC nanoseconds. */
#ifndef KGRADE_CONDITION_H
#define KGRADE_CONDITION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

void condition_init(pthread_cond_t *condition);

/* Waits until signalled, or for nothing at all, or until deadline; IO_NO_DEADLINE is never.  The lock is held before and
 * after.  False when the deadline has passed. */
bool condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t deadline);

#endif
