/*
 * A token bucket: it fills at `rate` a minute up to `burst`, and every request takes one out.
 *
 * A batch may take more than there is, once what is there would do for the largest batch that the
 * bucket could ever hold; the bucket then owes the rest and refuses until that has come in.  So a
 * batch larger than burst is served, after a pause, and the rate holds all the same.
 */
#ifndef KGRADED_RATE_H
#define KGRADED_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct bucket {
    double level; /* requests that may come now; negative: owed */
    uint64_t at;  /* when that was so, CLOCK_MONOTONIC ns; 0: never used, and so full */
};

struct rate {
    unsigned per_minute;
    unsigned burst;
};

/* Takes n at time `now`.  False when they are not there yet; *ret_retry_s is then in how many whole
 * seconds they will be, at least 1. */
bool bucket_take(struct bucket *bucket, const struct rate *rate, unsigned n, uint64_t now,
                 unsigned *ret_retry_s);

/* Whether it is as good as new at time `now`. */
bool bucket_is_full(const struct bucket *bucket, const struct rate *rate, uint64_t now);

#endif
