/*
 * Samples pair by pair, one of the candidate and one of the baseline right after each other, and the figures that they give.
 * sampling.c takes them; where a case is sampled in rounds, rounds.c puts those of several together.
 */
#ifndef KGRADE_PAIRS_H
#define KGRADE_PAIRS_H

#include "sampling.h"

struct pairs {
    size_t n, room;
    double *candidate, *baseline; /* ns, floor subtracted */
    double *candidate_excess,
        *baseline_excess; /* the grader's clock less the device's stamps, ns */
    double *ratios;       /* baseline / candidate; 0 where either is not positive */
    double *scratch;      /* for as many values; holds nothing between calls */
    bool *judged;         /* whether the candidate's sample was; owned */
    double candidate_floor_ns, baseline_floor_ns;
    size_t candidate_voids, baseline_voids;
    double *memory; /* owned */
};

#define PAIRS_NONE                                                                                 \
    {                                                                                              \
        .n = 0                                                                                     \
    }

/* Room for so many.  -1 with `out_of_memory`. */
int pairs_make(size_t room, struct pairs *ret, struct finding *finding);
void pairs_free(struct pairs *pairs);
#define cleanup_pairs __attribute__((cleanup(pairs_free)))

/* Behind those that are there, for which there must be room; the floors are those of the last that were appended. */
void pairs_append(struct pairs *to, const struct pairs *from);

/* The speedup and its interval; n > 0. */
void pairs_interval(const struct pairs *pairs, struct sampling *ret);

/* The centre of the candidate's times and its 95 % interval, ns; n > 0. */
void pairs_time(const struct pairs *pairs, double *ret_centre, double *ret_low, double *ret_high);

/* Both series, for which the interval is known already, and whether the figures can stand at all. */
void pairs_conclude(const struct pairs *pairs, const struct sampling_request *request,
                    struct sampling *ret);

#endif
