/* A grade's workers: starting them in their jails, speaking with them, ending them. */
#ifndef KGRADE_WORKERS_H
#define KGRADE_WORKERS_H

#include "../wire.h"
#include "engine.h"

/* Starts the device's program for STEP_RECORD, STEP_REPLAY, STEP_JUDGE or STEP_REHEARSE with wall_ns to live.  python: for
 * STEP_RECORD of a candidate in Python, STEP_JUDGE of a foreign task and STEP_REHEARSE the interpreter, else NULL. */
int worker_start(kgrade *engine, const struct device *device, enum device_step step,
                 const struct python *python, uint64_t wall_ns, struct worker *ret,
                 kgrade_error *err);

/* Takes a spare, or starts a worker when there is none alive. */
int worker_take(kgrade *engine, const struct device *device, enum device_step step,
                const struct python *python, struct worker *ret, kgrade_error *err);

/* Takes a spare; false: there is none. */
bool worker_take_spare(kgrade *engine, const struct device *device, enum device_step step,
                       const struct python *python, struct worker *ret);

/* spares.c: workers of a device that are started ahead, where it says so.  They get ready by themselves; one that cannot be
 * started is left out: whoever needs it will learn why. */
int spares_open(kgrade *engine, struct device_slot *slot, kgrade_error *err);
void spares_close(struct device_slot *slot);
void spares_end(struct device_slot *slot);

/* Around a grade, from before its build until it has given the device back: spares are there for it.  python: its
 * candidate's; NULL: a shared object.  rehearses: it takes rehearsals, too.  Afterwards they are refilled where they are kept between grades, and else end with
 * the last grade under way. */
void spares_begin(kgrade *engine, struct device_slot *slot, const struct task *task,
                  const struct python *python, bool rehearses);
void spares_over(kgrade *engine, struct device_slot *slot);

/* Replaces them all: what was started before a fault shares the device with it.  Those that a check of the device takes come
 * first, and are there whether a grade is under way or not; spares_settle follows. */
void spares_renew(kgrade *engine, struct device_slot *slot);
void spares_settle(kgrade *engine, struct device_slot *slot);

/* Where they are kept: from now on those of all kinds that the device and the tasks can have use for. */
void spares_ask_all(kgrade *engine, struct device_slot *slot);

/* How a request to a worker ended. */
enum worker_answer {
    WORKER_ANSWERED,  /* the message has "ok":true */
    WORKER_REFUSED,   /* the message has "ok":false and a reason */
    WORKER_DIED,      /* status tells how */
    WORKER_LATE,      /* the deadline passed; the worker has been killed */
    WORKER_GARBLED,   /* what came is not a message; the worker has been killed */
    WORKER_CANCELLED, /* the caller lost interest; the worker has been killed */
};

struct worker_outcome {
    enum worker_answer answer;
    struct wire_message message;
    struct jail_status status;
    char stage[32]; /* the last progress message */
};

/* What every one begins as: some are freed without a request. */
#define WORKER_OUTCOME_NONE                                                                        \
    {                                                                                              \
        .message = {.fd = -1 }                                                                     \
    }

void worker_outcome_free(struct worker_outcome *outcome);
#define cleanup_outcome __attribute__((cleanup(worker_outcome_free)))

/* Sends a request (stealing the reference) and waits for the final answer.  -1 only when a message could not even be made. */
void worker_request(struct worker *worker, json_t *request, const void *blob, size_t blob_size,
                    int fd, uint64_t deadline, struct worker_outcome *ret);

/* The same in two steps, for several workers that are to be at work side by side. */
struct worker_question {
    kgrade_error error; /* of sending it */
    int failed;
};
void worker_ask(struct worker *worker, json_t *request, const void *blob, size_t blob_size,
                uint64_t deadline, struct worker_question *ret);
void worker_hear(struct worker *worker, const struct worker_question *question, uint64_t deadline,
                 struct worker_outcome *ret);

/* Kills what is left and waits until everything in the jail is dead. */
void worker_end(struct worker *worker);
#define cleanup_worker __attribute__((cleanup(worker_end)))

/* Kills everything in the jail and goes on; graves_wait waits.  With no room left it waits by itself.  The worker is empty
 * afterwards. */
void worker_bury(struct worker *worker, struct graves *graves);

/* Returns when all of them are dead. */
void graves_wait(struct graves *graves);
#define cleanup_graves __attribute__((cleanup(graves_wait)))

/* What the worker wrote; see jails_log. */
char *worker_log(const struct worker *worker);
/* Fills the finding from anything but WORKER_ANSWERED: for processes in which only our code runs. */
int worker_fault(const struct worker_outcome *outcome, const char *who, struct finding *finding);

#endif
