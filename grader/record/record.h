/* The record step, seen from outside the jail. */
#ifndef KGRADE_RECORD_H
#define KGRADE_RECORD_H

#include "../grade/workers.h"

/* Host overhead of the launch path in one case; reported, never scored.  The recorder measures it in the
 * candidate's own process, so a candidate can make it look better than it is. */
struct host_overhead {
    uint64_t cold_ns; /* first call in this case */
    double warm_ns;   /* median of the warm calls */
    double warm_p90_ns;
    unsigned calls;
    unsigned launches; /* kernels that one call launches */
};

enum record_profile {
    RECORD_NO_PROFILE,
    RECORD_PROFILE,       /* nothing is recorded: ranges of host code can be noted */
    RECORD_PROFILE_PLAIN, /* nor are they noted */
};

#define RECORD_MAX_SEEDS 2

/* A recorder that was asked to get ready for a request, in which there is no candidate yet. */
struct record_opening {
    struct worker worker;
    struct worker_question question;
    bool is_open;
};
#define RECORD_OPENING_NONE                                                                        \
    {                                                                                              \
        .worker = WORKER_NONE                                                                      \
    }

struct record_request {
    const struct device *device;
    const struct task *task;
    const struct task_case *cases;
    size_t n_cases;
    unsigned warm_calls;
    enum record_profile profile;
    bool secret; /* hidden cases: nothing that the candidate says or does may come back */
    /* NULL: none.  Its call is recorded last, for ret_again. */
    const struct task_case *again;
    struct recording *ret_again;
    struct record_opening *opening; /* NULL, or of no recorder: one is taken and opened */
    const struct bytes *library;    /* the built candidate */
    const struct python *python;    /* its interpreter; NULL: it is a shared object */
    const struct bytes *seeds[RECORD_MAX_SEEDS]; /* of rehearsals; NULL or empty: none */
    struct graves
        *graves; /* where a recorder goes that has done its work; NULL: its death is waited for */
};

/* Asks a recorder to make its arena and returns; record_hear waits for it, if it was asked.  What the request says of cases
 * must be known. */
int record_ask(kgrade *engine, const struct record_request *request, struct record_opening *ret,
               struct finding *finding);
int record_hear(kgrade *engine, const struct record_request *request,
                struct record_opening *opening, struct finding *finding);

/* Records one call per case in a jail of its own, whose processes are then killed.  Before they are dead nothing that the
 * device holds can be relied on.  `overheads` has room for n_cases.  progress may be NULL; it is called before each case. Cases whose dims `recording` already has are skipped. */
typedef bool (*record_progress)(void *data, size_t done);
int record_cases(kgrade *engine, const struct record_request *request, struct recording *recording,
                 struct host_overhead *overheads, record_progress progress, void *data,
                 struct finding *finding);

/* One phase of a profile ("cold" or "warm") of cases[0], in a jail of its own; profile/worker.h tells what comes back.  It may
 * take record_phase_ns: as long as recording a case, and what goes with the budget. */
uint64_t record_phase_ns(const kgrade *engine, const struct python *python, unsigned budget_ms);
int record_phase(kgrade *engine, const struct record_request *request, const char *phase,
                 unsigned budget_ms, struct wire_message *ret, struct finding *finding);

/* A recorder that records nothing but makes calls when it is told to.  Initialise with RECORD_SESSION_NONE. */
struct record_session {
    kgrade *engine;
    const struct python *python;
    struct worker worker;
};
#define RECORD_SESSION_NONE                                                                        \
    {                                                                                              \
        NULL, NULL, WORKER_NONE                                                                    \
    }

/* Loads the candidate and makes a first call of cases[0].
 * RECORD_PROFILE_PLAIN: in the device's plain_recorder. */
int record_session_begin(kgrade *engine, const struct record_request *request,
                         struct record_session *ret, struct finding *finding);
/* Makes blocks of calls with the device waited for between them.  *ret_ns: the median over blocks of a call's time, by the
 * candidate's process; *ret_wall_ns: of all of it. */
int record_blocks(struct record_session *session, unsigned blocks, unsigned calls, bool noted,
                  double *ret_ns, uint64_t *ret_wall_ns, struct finding *finding);
void record_session_end(struct record_session *session);

#endif
