/*
 * The replayer: a process in the replay jail that makes the arena, or shares another's, and replays a recording on fresh inputs.  The
 * candidate's host code has never been mapped here.
 *
 * Messages (wire.h), grader -> replayer, one answer each:
 *   {"op":"open","task":TEXT,"arena_bytes":n,"workspace_bytes":n,"awake_ns":n} -> {"ok":true,"info":{..},"target":".."} + arena
 *                                                descriptor
 *                                                with an arena's descriptor: that arena is used, too
 *                                                awake_ns: how long to wait for a request before sleeping
 *   {"op":"recording"} + blob                 -> {"ok":true}
 *   {"op":"pack"}                             -> {"ok":true} + blob             the code of all that has been replayed
 *   {"op":"confine"} + blob                   -> {"ok":true}                    with that code; before the recording
 *   {"op":"load","dims":[..],"values":n}      -> {"ok":true,"load_ns":n}        n as in task_draw_from
 *   {"op":"inputs"}[+ a memory file]          -> {"ok":true}                  samples' inputs are taken from it, for foreign tasks;
 *                                                no file: they are in the arena when a sample is prepared
 *   {"op":"prepare","seed":"HEX","poison":"HEX","cold":bool} -> {"ok":true}
 *   {"op":"run","empty":bool}                 -> {"ok":true,"ns":n,"void":bool,"left_ns":n}   raw; empty: the measurement with nothing in
 *                                                it, which is the floor.  A request of its own, so that the grader's
 *                                                clock can look over the replayer's shoulder.
 *   {"op":"batch","n":n,"seed":"HEX","poison":"HEX","empty":bool} -> {"ok":true,"n":n}   n replays, or fewer; 0: not here
 *   {"op":"run_batch"}                        -> {"ok":true}                  all of them: the grader's clock tells how long
 *   {"op":"ceilings"}                         -> {"ok":true,"memory_bytes_per_s":x,"cache_bytes_per_s":x,
 *                                                 "operations_per_s":x}
 *   {"op":"health"}                           -> {"ok":true,...}                clocks, temperature, ... where there are any
 *   failure                                   -> {"ok":false,"verdict":..,"code":..,"message":..,"hint":..}
 */
#ifndef KGRADE_REPLAY_WORKER_H
#define KGRADE_REPLAY_WORKER_H

#include "../recording.h"
#include "../task/task.h"

/* What to do about `recording_invalid`, where nothing more precise is known. */
#define REPLAY_INVALID_HINT "Record the candidate again with this version of kgrade."

struct replay_sample {
    uint64_t ns;  /* stop - start, floor included */
    bool is_void; /* the sample must be thrown away and taken again */
    uint64_t
        left_ns; /* CPU time that a thread took between the last replay and this one, where that is looked at */
};

#define REPLAY_MAX_BATCH 256

struct replay_device {
    const char *name;

    /* NULL function: nothing.  What can be made before anything is known of the grade (context): called as soon
     * as the process runs, which may be long before it is needed. */
    int (*start)(kgrade_error *err);

    /* Makes the context and the arena, or with shared_fd, which stays the caller's and is -1 for none, takes the arena of
     * another replayer.  *ret_info: new reference, facts for results' environment ("hardware", "driver", "resolution_ns",
     * "clock", ...).  *ret_arena_fd: owned by the caller; -1 for an arena that is shared. */
    int (*open)(const struct task *task, uint64_t arena_bytes, int shared_fd, void **ret_state,
                json_t **ret_info, int *ret_arena_fd, kgrade_error *err);

    /* NULL functions: none; for devices whose kernels are native code of this process (runs_in_replayer).  What the
     * runtime has compiled so far; *ret is the caller's. */
    int (*pack)(void *state, struct bytes *ret, kgrade_error *err);
    /* Takes what another replayer has packed and gives up, for good, whatever could carry a kernel's work beyond its end:
     * from here on nothing can be compiled. */
    int (*confine)(void *state, const struct bytes *code, kgrade_error *err);

    /* Rebuilds the graph of one call.  Frees that of the call before. The recording stays valid until the next load. */
    int (*load)(void *state, const struct recording *recording, const struct recording_call *call,
                const struct layout *layout, kgrade_error *err);

    /* Inputs are not drawn: every prepare copies them from here, where they lie as in the arena, `bytes` in all; inputs NULL: it
     * finds them in the arena and leaves them, and what else is to be run once comes before, in load.  NULL function: not on this
     * device. */
    int (*feed)(void *state, const uint8_t *inputs, uint64_t bytes, kgrade_error *err);

    /* New inputs from seed, outputs and canaries poisoned from poison, workspace restored; then caches evicted by
     * reading when cold. */
    int (*prepare)(void *state, uint64_t seed, uint64_t poison, bool cold, kgrade_error *err);

    /* One timed replay, or with empty set the same measurement with nothing between its stamps, also before the first load. */
    int (*run)(void *state, bool empty, struct replay_sample *ret, kgrade_error *err);

    /* NULL functions: none.  batch makes *n replays back to back ready, each on inputs of its own, the last one's drawn and
     * poisoned from seed and poison as by prepare, or the same without the call; *n: how many there are, 0 where it cannot be.
     * run_batch runs them and returns when they have ended. */
    int (*batch)(void *state, uint64_t seed, uint64_t poison, bool empty, size_t *n,
                 kgrade_error *err);
    int (*run_batch)(void *state, kgrade_error *err);

    /* Measured ceilings of this machine, for the roofline. New reference. */
    json_t *(*ceilings)(void *state, kgrade_error *err);

    json_t *(*health)(void *state); /* new reference; NULL function: none */

    void (*close)(void *state);
};

int replay_worker_main(const struct replay_device *device);

#endif
