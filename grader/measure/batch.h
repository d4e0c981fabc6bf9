/*
 * The guard of a whole case: a batch of replays back to back is timed by the grader's own clock, against the same batch without
 * the candidate, and its last output is judged.  Device code shares its addresses with the stamps of a sample and with the queues
 * that order it; this clock it cannot reach, and right outputs it cannot fake.
 *
 * The clock is asked once for a batch, so that what asking costs is spread over its replays.  Caches are as the last replay and
 * the new inputs leave them, which costs less than a cold sample, so only more time than the samples' is in doubt.
 */
#ifndef KGRADE_BATCH_H
#define KGRADE_BATCH_H

#include "sampling.h"

#define BATCH_MIN_REPLAYS 8u
#define BATCH_MAX_REPLAYS 24u
/* Of a call that takes longer than this, half as many: what asking the clock costs is a smaller part of it. */
#define BATCH_LONG_NS 100e3
/* How long the calls of one batch may take by their stamps; at least one is made.  All of a batch has the one deadline of the
 * device (10 s on CUDA), which an honest call that takes a second must not run into. */
#define BATCH_MAX_NS 1e9
/* A busy machine makes any one batch late: all of so many must be. */
#define BATCH_TRIES 5u
/* How much longer than the samples' median a call in a batch may take.  What the inputs' writing leaves in the cache was 8 % at
 * most on an H200; the rest is for what the clock itself is off. */
#define BATCH_RELATIVE 0.25
#define BATCH_NS 5e3

/* Judges a sample more, and doubts the figures where the clocks disagree.  Nothing where the device has no batches. */
int batch_check(const struct sampling_request *request, struct sampling *ret,
                struct finding *finding);

#endif
