/* The launch paths of two candidates, timed so that neither can move the other's figure. */
#ifndef KGRADE_COMPARE_PATHS_H
#define KGRADE_COMPARE_PATHS_H

#include "../grade/telling.h"
#include "../record/record.h"
#include "compare.h"

/* Processes of each side.  Two processes of one candidate differ, by where memory happens to lie; one that differs much, or that
 * the machine disturbed, must not decide.  Where the ratio of so many is vague there are more. */
#define PATHS_PROCESSES 9u
#define PATHS_MOST_PROCESSES 15u

struct paths {
    struct compare_ratio ratio;
    double ns[2]; /* of a warm call: the median over a side's processes */
};

/* requests[i] opens side i.  Every process makes its calls alone: the one before is dead, and all that it started. */
int paths_compare(kgrade *engine, const struct record_request requests[2], struct telling *telling,
                  struct paths *ret, struct finding *finding);

#endif
