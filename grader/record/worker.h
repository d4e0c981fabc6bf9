/*
 * The recorder: a process in the record jail that loads the candidate, calls it, and captures one call per case.
 *
 * record_worker_main is the device-independent half: it speaks with the grader over descriptor 3, calls the
 * entry through libffi with the signature from task.json and times it.  A device fills struct record_device.
 * Everything this process says is untrusted: candidate code runs in it.
 *
 * Messages (wire.h), grader -> recorder, each answered by exactly one final message; progress messages may precede it:
 *   {"op":"open","task":TEXT,"arena_bytes":n}
 *                              -> {"ok":true}                       n: the buffers of the largest case
 *   {"op":"load"} + candidate.so as a descriptor
 *                              -> {"ok":true,"load_ns":n}           dlopen, entry looked up
 *   {"op":"record","dims":[..],"seed":"HEX","warm":n}
 *        progress {"stage":"first_call"|"first_call_wait"|"warm"|"warm_wait"|"capture"}
 *                              -> {"ok":true,"cold_ns":n,"warm_ns":[..]} + blob: a recording with one call
 *   refusal                    -> {"ok":false,"verdict":"refused"|"runtime_error"|"build_failed"|"infrastructure_error",
 *                                  "code":..,"message":..,"hint":..}
 */
#ifndef KGRADE_RECORD_WORKER_H
#define KGRADE_RECORD_WORKER_H

#include "../recording.h"
#include "../task/task.h"

enum record_mode {
    RECORD_EXECUTE, /* the call runs for real: first and warm calls */
    RECORD_CAPTURE, /* the call's work is written down, not run */
};

struct record_device {
    const char *name;

    /* NULL function: nothing.  What can be made before anything is known of the grade (context, queue, hooks): called as soon
     * as the process runs, which may be long before it is needed. */
    int (*start)(kgrade_error *err);

    /* Context, queue, hooks; before any candidate code is loaded.  Nothing of it is shared with the replayer. */
    int (*open)(const struct task *task, uint64_t arena_bytes, void **ret_state, kgrade_error *err);

    /* Buffers for a case, inputs drawn from seed, outputs poisoned.  Frees those of the case before. */
    int (*prepare)(void *state, const int64_t *dims, const struct layout *layout, uint64_t seed,
                   kgrade_error *err);

    /* What the candidate gets for a buffer or the stream: a pointer-sized value. */
    void *(*argument)(void *state, size_t param);

    /* Around one call.  begin: start watching (and capturing).  end: in RECORD_EXECUTE waits for the work; in
     * RECORD_CAPTURE writes the call into *recording.  A refusal is an error whose code is in design's list
     * (`nothing_enqueued`, `foreign_queue`, `blocking_call`, `host_memory`, `unsupported_call`, ...). */
    int (*begin)(void *state, enum record_mode mode, kgrade_error *err);
    int (*end)(void *state, enum record_mode mode, struct recording *recording, kgrade_error *err);

    /* NULL: nothing.  Before and after windows of `kgrade profile`, in a process that records nothing: whether calls of
     * the device's API are to be noted (profile/collector.h).  A device that exports the API itself notes them
     * there. */
    void (*profile)(void *state, bool on);

    void (*close)(void *state);
};

int record_worker_main(const struct record_device *device);

#endif
