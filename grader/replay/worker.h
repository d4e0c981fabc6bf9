/*
 * The replayer: a process in the replay jail that owns the arena and replays a recording on fresh inputs.  The
 * candidate's host code has never been mapped here.
 *
 * Messages (wire.h), grader -> replayer, one answer each:
 *   {"op":"open","task":TEXT,"arena_bytes":n} -> {"ok":true,"info":{..},"target":".."} + arena descriptor
 *   {"op":"recording"} + blob                 -> {"ok":true}
 *   {"op":"load","dims":[..]}                 -> {"ok":true,"load_ns":n}
 *   {"op":"prepare","seed":"HEX","poison":"HEX","cold":bool} -> {"ok":true}
 *   {"op":"run","empty":bool}                 -> {"ok":true,"ns":n,"void":bool}   raw; empty: the measurement with nothing in
 *                                                it, which is the floor.  A request of its own, so that the grader's
 *                                                clock can look over the replayer's shoulder.
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
};

struct replay_device {
    const char *name;

    /* NULL function: nothing.  What can be made before anything is known of the grade (context): called as soon
     * as the process runs, which may be long before it is needed. */
    int (*start)(kgrade_error *err);

    /* Makes the context and the arena.  *ret_info: new reference, facts for results' environment ("hardware",
     * "driver", "resolution_ns", "clock", ...).  *ret_arena_fd: owned by the caller. */
    int (*open)(const struct task *task, uint64_t arena_bytes, void **ret_state, json_t **ret_info,
                int *ret_arena_fd, kgrade_error *err);

    /* Rebuilds the graph of one call.  Frees that of the call before. The recording stays valid until the next load. */
    int (*load)(void *state, const struct recording *recording, const struct recording_call *call,
                const struct layout *layout, kgrade_error *err);

    /* New inputs from seed, outputs and canaries poisoned from poison, workspace restored; then caches evicted by
     * reading when cold. */
    int (*prepare)(void *state, uint64_t seed, uint64_t poison, bool cold, kgrade_error *err);

    /* One timed replay, or with empty set the same measurement with nothing between its stamps. */
    int (*run)(void *state, bool empty, struct replay_sample *ret, kgrade_error *err);

    /* NULL function: none.  n replays back to back, each on inputs of its own from seeds[i], the outputs of the last one
     * poisoned from poison; or the same without the candidate.  *ret_ns: all of it, by the host's clock: the guard. */
    int (*batch)(void *state, const uint64_t *seeds, size_t n, uint64_t poison, bool with_candidate,
                 uint64_t *ret_ns, kgrade_error *err);

    /* Measured ceilings of this machine, for the roofline. New reference. */
    json_t *(*ceilings)(void *state, kgrade_error *err);

    json_t *(*health)(void *state); /* new reference; NULL function: none */

    void (*close)(void *state);
};

int replay_worker_main(const struct replay_device *device);

#endif
