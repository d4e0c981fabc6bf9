/* Starting the programs of a grade in their jails, and speaking with them. */
#ifndef KGRADE_JAILS_H
#define KGRADE_JAILS_H

#include "../build/bundle.h"
#include "../wire.h"
#include "engine.h"

#define JAILS_MAX_LOG_BYTES (16u << 10)     /* of a worker's or a compiler's output in a result */
#define JAILS_MAX_OUTPUT_BYTES (8ull << 20) /* what a record jail may write, to any one file */

/* Starts the device's program for STEP_RECORD, STEP_REPLAY or STEP_JUDGE with wall_ns to live. */
int worker_start(kgrade *engine, const struct device *device, enum device_step step,
                 uint64_t wall_ns, struct worker *ret, kgrade_error *err);

/* Takes a spare, or starts a worker when there is none alive. */
int worker_take(kgrade *engine, const struct device *device, enum device_step step,
                struct worker *ret, kgrade_error *err);

/* Starts the spares of a device that are missing; they get ready by themselves.  A spare that cannot be started
 * is left out: whoever needs it will learn why. */
void spares_fill(kgrade *engine, struct device_slot *slot);
void spares_end(struct device_slot *slot);

/* While this thread waits for a worker or a compiler, go_on is asked about ten times a second; false cancels what is
 * waited for.  A grade runs in one thread, from begin to end. NULL: never asked. */
void jails_ask_while_waiting(bool (*go_on)(void *data), void *data);
/* Asks now. */
bool jails_go_on(void);

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

/* Kills what is left and waits until everything in the jail is dead. */
void worker_end(struct worker *worker);
#define cleanup_worker __attribute__((cleanup(worker_end)))

/* Kills everything in the jail and goes on; graves_wait waits.  With no room left it waits by itself.  The worker is empty
 * afterwards. */
void worker_bury(struct worker *worker, struct graves *graves);

/* Returns when all of them are dead. */
void graves_wait(struct graves *graves);
#define cleanup_graves __attribute__((cleanup(graves_wait)))

/* What the worker wrote, capped, made valid UTF-8, jail paths stripped.  NULL when empty. Caller frees. */
char *worker_log(const struct worker *worker);
char *jails_log(int output_fd);

/* Fills the finding from anything but WORKER_ANSWERED: for processes in which only our code runs. */
int worker_fault(const struct worker_outcome *outcome, const char *who, struct finding *finding);

/* A sealed memory file with these bytes. */
int jails_memory_file(const char *name, const void *data, size_t size, kgrade_error *err);

/* Runs a compiler in the build jail: `source` at /src/NAME, the result read back from /out/candidate.so.
 * Returns 0 with *ret filled; 1 when the compiler failed (exit status, signal or deadline in *ret_status, its words in
 * *ret_log); -1 for a fault of the machine. */
struct build_input {
    const struct device *device; /* for its binds; NULL: none */
    const char *const *argv;
    const struct bundle_file *files; /* what is in /src */
    size_t n_files;
};
int jails_build(kgrade *engine, const struct build_input *input, uint64_t wall_ns,
                struct bytes *ret, struct jail_status *ret_status, char **ret_log,
                kgrade_error *err);

#endif
