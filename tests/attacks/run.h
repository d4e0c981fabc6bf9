/* One run of this suite: an engine, the baits around it, and what the current case has come to. */
#ifndef ATTACKS_RUN_H
#define ATTACKS_RUN_H

#include <jansson.h>
#include <kgrade/kgrade.h>

#include "../../sandbox/base/io.h"
#include "bait.h"
#include "world.h"

#define RUN_INDENT "       "
#define RUN_SKIPPED 77
#define RUN_BUSY_RETRIES 4
#define RUN_PATIENCE_S 90    /* for each step of what was too slow for the short limits */
#define RUN_QUIET_SECONDS 30 /* for what ends after a grade */

struct run {
    kgrade *engine;
    kgrade_options options; /* that it was opened with */
    struct bait bait;
    char *facts;            /* bait_facts */
    char tasks[160];        /* the folder of tasks */
    char suite[4096];       /* tests/attacks */
    struct world quiet;     /* after the first grade */
    struct bytes recording; /* of the honest candidate for short_add */
    bool full;              /* isolation */
    bool cuda;              /* there is a card */
    bool python;            /* there is an interpreter for candidates of the OpenCL device */
    bool on_cuda;           /* candidates in C are compiled as CUDA's and graded on the card */
    int failures;           /* of the current case */
};

/* Counts and prints a failure of the current case. */
void run_complain(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Of the engines; without tasks, which are run->tasks.  Short: the point is that they hold, not how long they are. */
extern kgrade_options run_limits;

/* Opens run->engine with these; false after a message. */
bool run_open_engine(struct run *run, const kgrade_options *options);

/* Lays the baits and makes the tasks; they go again with run_clear_scene.  Exit on failure. */
void run_set_scene(struct run *run);
void run_clear_scene(struct run *run);

/* Whether this machine has an OpenCL device; after run_set_scene.  Sets run->cuda, too. */
bool run_has_device(struct run *run);

/* Why a case cannot run here; NULL when it can.  file: its source. */
const char *run_why_not_here(const struct run *run, const json_t *expect, const char *file);

/* Complains of what has been left behind since run->quiet, which is looked at anew then: the next case is not to blame. */
void run_check_quiet(struct run *run);

/* What a grade came to: a result, or the error of a request that was not taken, which gets the verdict "not_taken". */
struct outcome {
    kgrade_result *result;
    kgrade_error error;
};
void outcome_free(struct outcome *outcome);
#define cleanup_outcome __attribute__((cleanup(outcome_free)))

/* Grades folder/file, with the headers of this suite put in place.  The source is the caller's to free.  Exits when there
 * is none. */
void run_grade(struct run *run, const char *folder, const char *file, const char *task,
               char **ret_source, struct outcome *ret);

/* Whether the outcome is none of `expect`'s but is about the machine, which comes to such a one with any candidate when it is
 * held up; RUN_BUSY_RETRIES times. */
bool run_once_more(const struct outcome *outcome, const json_t *expect, unsigned *tries);

/* The same as run_grade, once more when run_once_more says so: what was too slow in an engine of its own that waits longer.
 * *ret_source and *ret are empty before. */
void run_grade_settled(struct run *run, const char *folder, const char *file, const char *task,
                       const json_t *expect, char **ret_source, struct outcome *ret);

/* Everything that expect.json and the rules of the suite demand of an outcome; complains.  `source` is what the author has
 * written himself, so that it may come back. */
void check_outcome(struct run *run, const json_t *expect, const char *source,
                   const struct outcome *outcome);

/* Right, or right but timed while the machine was busy with something else. */
bool check_accepted(const kgrade_result *result);
/* Whether the verdict, and the code that goes with it, are some that `expect` allows. */
bool check_expected(const struct outcome *outcome, const json_t *expect);
/* Whether the verdict says that the machine was too busy, or held up. */
bool check_machine_was_busy(const struct outcome *outcome);

#endif
