/*
 * A device: where candidates run.  One folder below grader/devices/ and one line in registry.c.
 *
 * This table is what the grader's own process knows of a device.  It never loads a driver; what touches one is
 * in the device's three worker programs, which run in jails:
 *
 *   recorder  loads the candidate, makes the calls, captures one      (record/worker.h)
 *   replayer  has the arena, rebuilds the graph, takes the samples    (replay/worker.h)
 *   judge     reads the arena, runs the reference                     (judge/worker.h)
 */
#ifndef KGRADE_DEVICE_H
#define KGRADE_DEVICE_H

#include <jansson.h>

#include "../sandbox/sandbox.h"

enum device_step { STEP_BUILD, STEP_RECORD, STEP_REPLAY, STEP_JUDGE, STEP_REHEARSE };

struct device_language {
    const char *name;        /* in requests: "c", "cuda" */
    const char *source_name; /* what the source file is called in the build jail: "candidate.c" */
    const char
        *baseline; /* file in a task's folder: "baseline.opencl.c"; NULL: none is written in it */
    const char *const *flags; /* that a candidate may ask for, NULL-terminated; see build/flags.h */
    /* Not compiled: a Python interpreter loads the device's recorder (`recorder` of struct device with "-python") and the
     * candidate; see python/bridge.c. */
    bool interpreted;
};

#define DEVICE_MAX_COMPILE_ARGS 64
#define DEVICE_HEADERS "/headers"

struct device {
    const char *name;
    const struct device_language
        *languages; /* ends with a NULL name; the first is the baseline's */
    const char *recorder, *replayer, *judge; /* program names in libexec */
    /* In libexec: what an interpreter runs to rehearse a candidate without the device (grade/rehearsal.h); NULL: nothing. */
    const char *rehearsal;
    /* The recorder without the notes that profiles need, to be compared with; NULL: there is none. */
    const char *plain_recorder;
    bool
        shares_arena; /* two replayers can work in one arena (at the same addresses), taking turns */

    /* Reading the arena takes the device's driver, and so its system calls. */
    bool judge_needs_driver;
    /* Workers are started before they are needed.  Not for a device that is this machine's own CPU:
     * their starting would be heard in the measurements. */
    bool start_ahead;
    /* Whoever waits for a replayer's answer, or for a request to it, stays awake: waking up takes longer than most kernels.  Not
     * for a device that is this machine's own CPU. */
    bool stays_awake;
    /* Kernels are native code of the replayer's process and could bend its clock: times stand only where the grader's own
     * clock would have shown it. */
    bool runs_in_replayer;
    /* A fault in one process may leave the device unusable for the next: after one, the slot must pass a health check.
     * Not for a device that is processes only: their death says nothing about it. */
    bool fault_is_sticky;
    /* The runtime itself is not known to be right: the baseline's answers are looked at before a candidate is blamed for its
     * own.  Once for each kind of hardware; where arenas are shared it comes first anyhow. */
    bool baseline_first;

    /* A folder below share/kgrade with headers for candidates.  A build jail whose command line names DEVICE_HEADERS has it
     * there, read-only.  NULL: none. */
    const char *headers;

    /* The compiler's command line for /src/SOURCE -> /out/candidate.so; NULL-terminated into argv.
     * Returned strings live as long as the process.  `target` is the "target" of the replayer's information
     * ("" before it is known). -1 with an error when there is no compiler. */
    int (*compile)(const struct device_language *language, const char *target,
                   const char *argv[DEVICE_MAX_COMPILE_ARGS], kgrade_error *err);

    /* A task's reference for this device: the file in the task's folder, and the compiler's command line
     * for /src/FILE -> /out/candidate.so, as above.  NULL: there is none. */
    const char *reference;
    int (*compile_reference)(const char *target, const char *argv[DEVICE_MAX_COMPILE_ARGS],
                             kgrade_error *err);

    /* What a step's jail needs beyond the common: libraries, device nodes, environment.  Fill at most max entries,
     * return how many. */
    size_t (*binds)(enum device_step step, struct jail_bind *binds, size_t max);
    size_t (*environment)(enum device_step step, const char **env, size_t max);

    /* What a kernel of an image takes, for people: a JSON object such as {"registers": 32, "shared_bytes": 0, ...}; NULL
     * when the image does not tell.  The image is hostile.  NULL: images of this device never tell. */
    json_t *(*describe_kernel)(const void *image, size_t size, const char *kernel);

    /* RLIMIT_AS for record and replay; 0: none. */
    uint64_t memory_bytes;

    /* Device memory that a candidate in Python may allocate on top of a task's workspace; see spec_workspace.  0: none. */
    uint64_t framework_bytes;
};

/* All devices compiled in; NULL-terminated. */
extern const struct device *const device_registry[];

const struct device *device_find(const char *name); /* NULL: unknown */
/* Of an interpreted language also "LANGUAGE:INTERPRETER". */
const struct device_language *device_language_find(const struct device *device, const char *name);

/* "opencl, cuda" for messages. */
const char *device_names(void);

#endif
