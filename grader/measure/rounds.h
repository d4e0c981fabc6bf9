/*
 * A benchmark case sampled in rounds, each in a fresh pair of replayers.
 *
 * Where each replayer has memory and threads of its own on the machine's processor, one that is placed badly, on a core with a
 * busy neighbour or in slow memory, is slow for as long as it lives.  No number of samples from it shows that, for all of them
 * share the cause.  So two pairs share the samples of a case.  A third one is taken where they disagree, and where together they
 * are too noisy; when no two agree then, there is no result.
 *
 * Nothing is to be had from being at odds with oneself: what a round judged counts even if its times do not, and a candidate
 * can only slow itself.
 *
 * A case's limits on samples and seconds are shared out among SAMPLING_MAX_ROUNDS, so they hold with a third round, too.  As
 * anywhere, the least number of samples comes before either: SAMPLING_MIN_SAMPLES are those of two rounds.
 */
#ifndef KGRADE_ROUNDS_H
#define KGRADE_ROUNDS_H

#include "pairs.h"

#define ROUNDS_PLANNED 2u /* of at most SAMPLING_MAX_ROUNDS */
/* How far apart the intervals of two rounds that agree may be, relative: processes of one kernel differ by as much. */
#define ROUNDS_SLACK 0.05

struct round {
    struct pairs pairs;
    struct sampling sampling; /* what it gave by itself */
};

/* Zeroed before the first. */
struct rounds {
    struct round rounds[SAMPLING_MAX_ROUNDS];
    size_t n;
};

void rounds_free(struct rounds *rounds);

/* Takes another one, of at most SAMPLING_MAX_ROUNDS.  *ret: its snapshots, which are to be judged, and the
 * figures so far: of those rounds that agree, and doubted (`too_noisy`) where no two do.  The interval holds the centre of each. */
int rounds_sample(struct rounds *rounds, const struct sampling_request *request,
                  struct sampling *ret, struct finding *finding);

/* Whether another one is needed after these figures. */
bool rounds_want_more(const struct rounds *rounds, const struct sampling *so_far);

#endif
