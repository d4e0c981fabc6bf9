/*
 * The floor: what the measurement shows with nothing in it.  It is subtracted from samples.
 *
 * Each process has its own: on an H200 they lie up to three ticks of the clock apart (640 to 700 ns), and stay where they are for as
 * long as the process lives.  A kernel of 4 us would be 1.5 % better or worse for it.  But a candidate's process is only
 * asked while no code of the candidate has been in it: afterwards whatever that left behind could pass for the cost of measuring.
 * So how much the two differ is taken first (floor_difference), and later the baseline's alone (floor_take).
 */
#ifndef KGRADE_FLOOR_H
#define KGRADE_FLOOR_H

#include "../replay/replay.h"

#define FLOOR_SAMPLES 63u
#define FLOOR_TURNS 3u   /* in which both sides take theirs, so that both see the same clocks */
#define FLOOR_TRIES 630u /* a busy machine makes many void */

/*
 * A stamp is the last tick of the device's clock, so that an interval is known to a tick only: 32 ns of a kernel of 4 us are
 * 0.8 %.  The true one lies anywhere in the tick, so each sample is moved to another place in it, evenly spread (Roberts'
 * sequence, "The Unreasonable Effectiveness of Quasirandom Sequences", 2018); a median of many is then finer than a tick.
 * Floors are treated alike, so nothing is added.
 */
struct dither {
    double step; /* in ticks */
    size_t taken;
};

#define DITHER_CANDIDATE                                                                           \
    {                                                                                              \
        0.7548776662466927, 0                                                                      \
    }
#define DITHER_BASELINE                                                                            \
    {                                                                                              \
        0.5698402909980532, 0                                                                      \
    }

/* In [0, resolution_ns), to be added to the next sample. */
double dither_next(struct dither *dither, double resolution_ns);

/* The baseline's, ns.  -1 with the finding, which blames no candidate. */
int floor_take(struct replay *baseline, struct dither *dither, double resolution_ns, double *ret,
               struct finding *finding);

/* The candidate's floor less the baseline's, ns; both have been opened and have no recording yet.  -1 as above. */
int floor_difference(struct replay *candidate, struct replay *baseline, double resolution_ns,
                     double *ret, struct finding *finding);

#endif
