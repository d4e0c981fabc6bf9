/*
 * The recorder: a process in the record jail that loads the candidate, calls it, and captures one call per case.
 *
 * record_worker_main is the device-independent half: it speaks with the grader over descriptor 3, calls the
 * entry through libffi with the signature from task.json and times it.  A device fills struct record_device.
 * Everything this process says is untrusted: candidate code runs in it.
 *
 * Messages (wire.h), grader -> recorder, each answered by exactly one final message; progress messages may precede it:
 *   {"op":"open","task":TEXT,"arena_bytes":n,"workspace_bytes":n}
 *                              -> {"ok":true}                       of the largest case's buffers, and in place of the task's
 *   {"op":"seed"} + files as a descriptor
 *                              -> {"ok":true}                       of a rehearsal; before the candidate is loaded, any number
 *   {"op":"load"} + candidate.so as a descriptor
 *                              -> {"ok":true,"load_ns":n}           dlopen, entry looked up
 *   {"op":"record","dims":[..],"seed":"HEX","warm":n}          of at most so many warm calls
 *        progress {"stage":"first_call"|"first_call_wait"|"warm"|"warm_wait"|"capture"}
 *                              -> {"ok":true,"cold_ns":n,"warm_ns":[..]} + blob: a recording with one call, in which what
 *                                                                 earlier ones had is named only (recording_parse_part)
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

    /* NULL: nothing.  After end: -1 with what the device denied the host code in that call, which need not have minded; it is the
     * reason where the host code gave up. */
    int (*denied)(void *state, kgrade_error *err);

    /* NULL: nothing.  Before and after windows of `kgrade profile`, in a process that records nothing: whether calls of
     * the device's API are to be noted (profile/collector.h).  A device that exports the API itself notes them
     * there. */
    void (*profile)(void *state, bool on);
    /* NULL: noting a call costs what noting any range costs.  A call of that API which does next to nothing and, while calls are
     * noted, leaves one range. */
    void (*idle_call)(void *state);

    void (*close)(void *state);
};

struct call;

/*
 * What the candidate's host code is written in: compiled to a library (record_host_native), or interpreted
 * (python/bridge.c).  Any pointer but those of load and open may be NULL: nothing to do.
 */
struct record_host {
    /* What takes long and can be done before anything is known of the grade; after the device's start. */
    int (*start)(kgrade_error *err);
    /* *ret_call is what record_host's entries are called with. */
    int (*open)(const struct task *task, struct call **ret_call, kgrade_error *err);
    /* What a rehearsal of the candidate left: see grade/rehearsal.h. */
    int (*seed)(int fd, kgrade_error *err);
    /* The candidate, as build/build.h made it. */
    int (*load)(const struct task *task, int fd, void (**ret_entry)(void), kgrade_error *err);
    /* The arguments of a case; pointers[i]: what the device gives for buffer or stream i of the task's parameters. */
    int (*prepare)(const struct task *task, struct call *call, const int64_t *dims,
                   void *const pointers[TASK_MAX_PARAMS], kgrade_error *err);
    /* -1 when calls since the last time have failed by the host code's own word. */
    int (*called)(kgrade_error *err);
};

extern const struct record_host record_host_native;

/* A device's recorder; every device defines one. */
extern const struct record_device record_this_device;

/* Serves the grader until it hangs up, and ends the process. */
int record_worker_main(const struct record_device *device, const struct record_host *host);

#endif
