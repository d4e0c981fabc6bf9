/* A grade at work, and its parts.  For the files of this folder only. */
#ifndef KGRADE_GRADE_STATE_H
#define KGRADE_GRADE_STATE_H

#include "../judge/judge.h"
#include "../record/record.h"
#include "../replay/replay.h"
#include "engine.h"
#include "result.h"
#include "telling.h"

/* Public ones, hidden ones, and benchmark shapes with the values of each hidden range. */
#define GRADE_MAX_CASES (TASK_MAX_CASES * (2 + TASK_MAX_HIDDEN_RANGES))

enum step {
    STEP_TIME_BUILD,
    STEP_TIME_RECORD,
    STEP_TIME_BASELINE,
    STEP_TIME_REPLAY,
    STEP_TIME_JUDGE,
    STEP_TIMES
};

struct grade {
    kgrade *engine;
    const struct task *task;
    const struct device *device;
    struct device_slot *slot;
    const struct device_language *language; /* NULL when a recording is graded */
    struct python *python;                  /* for an interpreted language, else NULL */
    const char *source;
    size_t source_size;
    char id[KGRADE_ID_DIGITS + 1];
    struct telling telling;

    /* Public ones first, then hidden ones, then hidden ones with the dims of public ones and other values, which need
     * no recording of their own. */
    struct task_case cases[GRADE_MAX_CASES];
    size_t n_public, n_recorded, n_cases;
    struct case_result results[GRADE_MAX_CASES];

    char target[32];
    struct bytes library;
    struct bytes seeds[RECORD_MAX_SEEDS]; /* see rehearsal.h */
    struct recording *recording;
    struct bytes public_recording; /* without the hidden cases: may leave the house */
    struct recording *again;       /* one benchmark case, by the recorder of the hidden ones */
    size_t again_case;
    struct replay candidate, baseline;
    struct bytes code; /* of the candidate's kernels; see replay.h */
    struct record_opening
        recorders[2]; /* of public and hidden cases, as long as no candidate is in them */
    struct graves graves;
    json_t *device_state;  /* before and after measuring; NULL where the device tells nothing */
    size_t recording_from; /* the first case of the part that is being recorded */
    unsigned faults;       /* of the device when the candidate's replayer was opened */
    struct judge_client judge;
    double floor_difference_ns; /* of candidate and baseline; see measure/floor.h */
    bool build_cached;
    uint64_t started_ns, held_ns, step_ns[STEP_TIMES];
    struct finding finding;
};

/* telling_proceed with the grade's own finding. */
int grade_proceed(struct grade *g, const char *step, size_t done, size_t total);

/* cases.c: the task's cases for this device, and hidden ones. */
void grade_choose_cases(struct grade *g);
size_t grade_benchmark_cases(const struct grade *g, struct task_case ret[GRADE_MAX_CASES]);

/* prepare.c: from the source to a recording. -1 with the finding filled, as all that follow. */
int grade_build(struct grade *g);
int grade_ask_recorders(struct grade *g); /* to get ready; where workers are started ahead */
int grade_hear_recorders(struct grade *g);
int grade_record(struct grade *g);
int grade_take_device(struct grade *g); /* waits for it */
int grade_open_candidate(struct grade *g);
int grade_blame_recording(struct grade *g, const kgrade_error *err);

/* again.c: whether the same call, recorded by two processes, is the same work.  First the case is chosen. */
int grade_choose_again(struct grade *g);
int grade_check_again(struct grade *g);

/* timing.c: from a recording to figures. */
int grade_open_workers(struct grade *g); /* what does not need the recording */
int grade_replay(struct grade *g);
int grade_fail_answer(struct grade *g, const struct case_result *r); /* a wrong one; -1 */
void grade_close_workers(struct grade *g, struct graves *graves);

/* answer.c: the result.  -1 without memory. */
int grade_answer(struct grade *g, bool failed, kgrade_result **ret, kgrade_error *err);

#endif
