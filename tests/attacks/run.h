/* One run of this suite: an engine, the baits around it, and what the current case has come to. */
#ifndef ATTACKS_RUN_H
#define ATTACKS_RUN_H

#include <jansson.h>
#include <kgrade/kgrade.h>

#include "../../sandbox/base/io.h"
#include "bait.h"
#include "world.h"

#define RUN_INDENT "       "

struct run {
    kgrade *engine;
    struct bait bait;
    char *facts;            /* bait_facts */
    char tasks[160];        /* the folder of tasks */
    char suite[4096];       /* tests/attacks */
    struct world quiet;     /* after the first grade */
    struct bytes recording; /* of the honest candidate for short_add */
    bool full;              /* isolation */
    int failures;           /* of the current case */
};

/* Counts and prints a failure of the current case. */
void run_complain(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What a grade came to: a result, or the error of a request that was not taken, which gets the verdict "not_taken". */
struct outcome {
    kgrade_result *result;
    kgrade_error error;
};

/* Everything that expect.json and the rules of the suite demand of an outcome; complains.  `source` is what the author has
 * written himself, so that it may come back. */
void check_outcome(struct run *run, const json_t *expect, const char *source,
                   const struct outcome *outcome);

/* Right, or right but timed while the machine was busy with something else. */
bool check_accepted(const kgrade_result *result);

#endif
