/* Comparing one output with the reference, element by element and by norm. */
#ifndef KGRADE_JUDGE_COMPARE_H
#define KGRADE_JUDGE_COMPARE_H

#include "../task/task.h"

#define COMPARE_AROUND 16u /* elements that are shown around the worst one, itself included */

struct comparison {
    uint64_t count;
    uint64_t bad;       /* elements outside the tolerance, non-finite mismatches included */
    uint64_t nan;       /* elements that are NaN where the reference is not */
    uint64_t unwritten; /* bad elements that still hold the poison */
    bool norm_ok;
    double
        norm; /* ||got - expected||2 / ||expected||2 over finite elements; the numerator alone when the
                           denominator is 0 */
    /* The element farthest outside (or nearest to the edge of) its tolerance; among those that no tolerance
     * would admit, the one with the largest error; of equals, the first. */
    uint64_t worst_index;
    double worst_error; /* |got - expected|; infinite when just one of them is finite or a number */
    double worst_expected, worst_got;
    /* The worst element and its neighbours; n_around 0: not known. */
    uint64_t around_first; /* index */
    size_t n_around;
    double around_expected[COMPARE_AROUND], around_got[COMPARE_AROUND];
};

/* got: count elements of type; poison: the same number of bytes, or NULL when there was none; expected: double for float
 * types, int64_t for the rest.  tolerance NULL: exact. */
void compare_output(enum dtype type, const void *got, const void *poison, const void *expected,
                    uint64_t count, const struct tolerance *tolerance, struct comparison *ret);

bool comparison_passes(const struct comparison *comparison);

/* The first of the elements that are shown around the worst one. */
static inline uint64_t compare_around_first(uint64_t worst_index)
{
    return worst_index > COMPARE_AROUND / 2 ? worst_index - COMPARE_AROUND / 2 : 0;
}

#endif
