/*
 * Working through a round: a few threads take candidates, have them graded and keep what comes.
 *
 * Who grades is behind a function: this machine's engine, or a server.  More threads than the device has slots build
 * ahead while it is busy.
 */
#ifndef KGRADE_REGRADE_RUN_H
#define KGRADE_REGRADE_RUN_H

#include "../../sandbox/base/io.h"
#include "store.h"

#define REGRADE_MAX_THREADS 64u
/* Infrastructure errors one after the other, with nothing graded between, that end a run: what fails so often fails on. */
#define REGRADE_MAX_FAULTS 5u

enum regrade_grading {
    REGRADE_GRADING_DONE,    /* there is a result */
    REGRADE_GRADING_REFUSED, /* this candidate can never be graded; *err tells why */
    REGRADE_GRADING_ENDED, /* nothing more can be graded, or somebody asked to stop; *err tells why */
};

struct regrade_outcome {
    char *result;           /* kgrade.grade/1; free() */
    struct bytes recording; /* empty: none */
};

/* What is told, one thread at a time, when a candidate is done with. */
struct regrade_told {
    const struct regrade_job *job;
    const char *verdict; /* NULL: refused */
    const char *code;    /* of the reason, or of why it was refused; NULL when accepted */
    double score;
    uint64_t done, total; /* of the round, those of earlier processes included */
};

struct regrade_run {
    unsigned threads; /* 1 to REGRADE_MAX_THREADS */
    enum regrade_grading (*grade)(void *data, unsigned thread, const struct regrade_job *job,
                                  struct regrade_outcome *ret, kgrade_error *err);
    bool (*stop)(void); /* asked between candidates; NULL: never */
    void (*tell)(void *data, const struct regrade_told *told); /* NULL: nobody listens */
    void *data;
};

struct regrade_summary {
    uint64_t done; /* in this process */
    uint64_t verdicts[KGRADE_INFRASTRUCTURE_ERROR + 1];
    uint64_t refused;
    uint64_t wall_ns;
    double held_ms; /* how long devices were held, by the results */
    bool complete;  /* nothing of the round is left to do */
};

/* Errors: those of the store and of the grader, `too_many_faults`; *ret is filled in any case. */
int regrade_run(struct regrade_store *store, const struct regrade_run *run,
                struct regrade_summary *ret, kgrade_error *err);

#endif
