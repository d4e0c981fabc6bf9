/*
 * The profile step, inside the jail: in a recorder that was opened for it and records nothing.  Every word of this
 * process is untrusted.
 *
 * Messages, in addition to those of record/worker.h:
 *   {"op":"open","task":TEXT,"profile":true}      the collector is made, NVTX told of it
 *   {"op":"open","task":TEXT,"profile":"plain"}   it is not: for comparing with
 *   {"op":"profile","dims":[..],"seed":"HEX","phase":"cold"|"warm","budget_ms":n}
 *        progress {"stage":"first_call"|"first_call_wait"|"warm"}
 *        -> {"ok":true,"clock":"tsc"|"monotonic","tick_ns":x,"calls":n,"block":n,
 *            "before":{"leaf_ns":x,"complete_ns":x,"call_leaf_ns":x,"call_complete_ns":x},"after":{..},
 *            "end_to_end":[ns..],                        averages of blocks of calls; warm only
 *            "threads":[{"events":n,"lost":n}..],"threads_lost":n,"names":[TEXT..]}
 *           + blob: the threads' logs (log.h), one after the other
 *   {"op":"blocks","dims":[..],"seed":"HEX","blocks":n,"calls":n,"noted":bool}
 *        progress as above; "dims" only at first, which also makes a first call
 *        -> {"ok":true,"ns":[average of a call, for each block],"wall_ns":n}
 */
#ifndef KGRADE_PROFILE_WORKER_H
#define KGRADE_PROFILE_WORKER_H

#include <jansson.h>

#include "../record/worker.h"
#include "../task/call.h"

#define PROFILE_MAX_BUDGET_MS 60000u
#define PROFILE_MAX_BLOCKS 1000
#define PROFILE_MAX_CALLS 4096 /* of one block */

struct profile_target {
    const struct record_device *device;
    void *state;
    struct call *call; /* with its arguments */
    void (*entry)(void);
    void (*progress)(const char *stage);
};

/* Before the candidate is loaded. */
int profile_open(kgrade_error *err);

/* One phase of a case whose buffers are prepared.  *ret_json: a new reference to the answer without "ok". */
int profile_phase(const struct profile_target *target, const json_t *request, json_t **ret_json,
                  struct bytes *ret_log, kgrade_error *err);

/* Blocks of calls, timed, and noted or not; what was noted is dropped. */
int profile_blocks(const struct profile_target *target, const json_t *request, json_t **ret_json,
                   kgrade_error *err);

#endif
