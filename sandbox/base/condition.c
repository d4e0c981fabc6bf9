#define _GNU_SOURCE
#include "condition.h"

#include <errno.h>
#include <time.h>

#include "io.h"

void condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t deadline)
{
    if (deadline == IO_NO_DEADLINE) {
        pthread_cond_wait(condition, lock);
        return true;
    }
    const struct timespec until = {(time_t)(deadline / IO_NS_PER_S),
                                   (long)(deadline % IO_NS_PER_S)};
    return pthread_cond_timedwait(condition, lock, &until) != ETIMEDOUT;
}
