/*
 * Two orders of the same entries: as the board had them, and as they are now.
 *
 * Ranks are competition ranks: equal ones share the better rank, and as many ranks after it are left out (1, 2, 2, 4).
 *
 * Ties within noise.  New figures have intervals.  Entries in the order of their figures, best first: the first leads a
 * group, and those after it belong to the group as long as the better end of their interval reaches the worse end of the
 * leader's.  The first that does not leads the next group.  So each entry is in one group, all of a group are tied with its
 * leader, and all share its rank; a chain of neighbours, each as good as the next, is not drawn out into one group.
 *
 * Kept its place.  Places are counted among the entries that both orders have, so nobody rises because another was thrown
 * out.  An entry takes the places of its old ties (equal figures), and of its new ones (its group); it keeps its place when
 * the two ranges meet.
 *
 * A gain that is gone.  One of the first RANKING_WINNERS of the old order was ahead of another entry by more than
 * RANKING_LEAD there, and is not ahead of it now: their intervals meet, or the other is ahead.  The launch path explains it
 * when the other's host overhead is larger by more than RANKING_LEAD, too, and, where the old figures are times, by enough: a
 * lead of more than RANKING_HOST_REACH times what the two overheads differ by here is not one of launch paths, however slow
 * the old machine was.  Otherwise the gain is gone for a reason that the figures do not show: other hardware, another clock,
 * warm caches, inputs that repeat.  Who rose for certain (all of its new places are better than its old ones) has lost nothing,
 * whoever it is tied with.
 */
#ifndef KGRADE_REGRADE_RANKING_H
#define KGRADE_REGRADE_RANKING_H

#include "rules.h"

#define RANKING_WINNERS 20u    /* whose gains are looked into */
#define RANKING_LEAD 0.05      /* by how much one must be ahead for it to count */
#define RANKING_HOST_REACH 10  /* how much longer launch paths may have been there than here */
#define RANKING_TAU_ENTRIES 8u /* fewer than that give tau no interval */

enum ranking_gain {
    RANKING_GAIN_STANDS, /* or was not looked into */
    RANKING_GAIN_LAUNCH, /* was the launch path's */
    RANKING_GAIN_GONE,   /* is not there, and host overhead does not explain it */
};

struct ranking_entry {
    /* Set by the caller. */
    double old_figure;    /* NaN: it had none */
    struct rule_span now; /* none: not accepted */
    double host_ns;       /* of the launch path, warm; NaN: unknown */
    double old_ns;        /* the old figure, where it is a time; 0 or NaN: it is none */
    /* Set by ranking_make. */
    unsigned old_rank; /* 0: none */
    unsigned new_rank; /* the same for all of a group; 0: none */
    unsigned group;    /* from 1 up, best first; 0: none */
    bool compared;     /* has both */
    bool kept;         /* its place, within noise */
    enum ranking_gain gain;
    unsigned over;        /* how many entries the gain was over, ... */
    size_t over_nearest;  /* ... the best ranked of them in the old order ... */
    size_t over_farthest; /* ... and the worst: their indices */
};

struct ranking_tau {
    double
        tau; /* Kendall's tau-b; NaN: not defined, for fewer than two entries or one order of ties only */
    double low, high; /* of the 95 % interval; NaN: there is none */
};

struct ranking {
    size_t compared, kept;
    struct ranking_tau tau; /* between the old figures and the new groups */
};

/* Fills what is to be filled.  -1: no memory. */
int ranking_make(struct ranking_entry *entries, size_t n, bool old_lower_is_better,
                 bool new_lower_is_better, struct ranking *ret);

/*
 * Kendall's tau-b between x and y, in n log n, and its interval.
 *
 * tau-b: (C - D) / sqrt((T - Tx)(T - Ty)), with C and D pairs in the same and in opposite order, T all pairs, Tx and Ty those
 * that are tied in x and y (Kendall, "The treatment of ties in ranking problems", Biometrika 33, 1945).  Interval: +- 1.96
 * asymptotic standard errors, the one that does not assume independence (Brown and Benedetti, "Sampling behavior of tests for
 * correlation in two-way contingency tables", JASA 72, 1977), within [-1, 1].  Where all pairs agree, or all disagree, that
 * error is 0, which says nothing about how sure it is; then the interval is the exact one for n / 2 pairs that share no entry,
 * and so are independent (Clopper and Pearson, Biometrika 26, 1934).  It takes the entries for a sample of such entries.
 * -1: no memory.
 */
int ranking_tau(const double *x, const double *y, size_t n, struct ranking_tau *ret);

#endif
