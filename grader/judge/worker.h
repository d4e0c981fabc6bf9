/*
 * The judge: a process that computes what the answer should have been and compares.  No candidate code, host or device,
 * ever runs in it; the arena is mapped read-only; outputs are bytes to be compared.
 *
 * Messages (wire.h), grader -> judge, one answer each:
 *   {"op":"open","task":TEXT} + arena descriptor   -> {"ok":true}
 *   {"op":"reference"} + reference.so as a descriptor -> {"ok":true}
 *   {"op":"describe"} + problem.json with its files as a blob -> {"ok":true} + task.json as a blob   (python/problem.py)
 *   {"op":"python"} + the task's Python as a blob  -> {"ok":true}         in place of "reference", for foreign tasks
 *   {"op":"inputs","dims":[..],"seed":"HEX"}[+ a memory file for them, the first time]
 *                                                  -> {"ok":true}         makes a sample's inputs, as the case lies in the arena
 *   {"op":"device_reference","check":bool} + its shared object as a descriptor
 *                                                  -> {"ok":true}         compared with the other one first
 *   {"op":"snapshot","dims":[..],"values":n,"seed":"HEX","poison":"HEX"}    n as in task_draw_from
 *                                                  -> {"ok":true,"id":n}   copies the case out of the arena
 *   {"op":"judge","id":n}                          -> {"ok":true,"pass":bool,"code":..,"correctness":{..}}
 *   {"op":"answer","dims":[..],"values":n,"seed":"HEX"[,"vary":PARAM,"vary_seed":"HEX"][,"mantissa_bits":n]}
 *     + arena descriptor, for writing              -> {"ok":true}         writes outputs (host_answer); for the linter
 *   failure                                        -> {"ok":false,"code":..,"message":..,"hint":..}
 */
#ifndef KGRADE_JUDGE_WORKER_H
#define KGRADE_JUDGE_WORKER_H

#include "compare.h"

/* What one judged sample was made from. */
struct judge_case {
    int64_t dims[TASK_MAX_PARAMS];
    struct layout layout;
    uint64_t seed, poison;
};

/* A reference that runs on the device, and the comparison there: nothing but figures comes back.  For tasks that have
 * one; the others' outputs are copied to the host and compared there, by the same rules. */
struct judge_reference {
    /* `reference_DEVICE` of the shared object.  The task stays the caller's and lives as long as the state. */
    int (*load)(void *state, const struct task *task, int library_fd, kgrade_error *err);
    /* Runs it on the inputs of a case; wide[i] gets the values of output i of the layout, in the reference's types;
     * inputs are left out. */
    int (*evaluate)(void *state, const struct judge_case *c, void *const *wide, kgrade_error *err);
    /* Copies the outputs out of the arena; *ret_changed: an input there is not what was drawn. */
    int (*keep)(void *state, const struct judge_case *c, void **ret_kept, bool *ret_changed,
                kgrade_error *err);
    /* Compares what was kept.  ret: by index in the layout; inputs are left out. */
    int (*compare)(void *state, const struct judge_case *c, const void *kept,
                   struct comparison *ret, kgrade_error *err);
    void (*drop)(void *state, void *kept);
};

struct judge_device {
    const char *name;

    /* NULL function: nothing.  What can be made before anything is known of the grade (context): called as soon
     * as the process runs, which may be long before it is needed. */
    int (*start)(kgrade_error *err);
    /* Maps the arena read-only. */
    int (*attach)(int arena_fd, void **ret_state, kgrade_error *err);
    /* Copies bytes of the arena to host memory. */
    int (*read)(void *state, uint64_t offset, uint64_t bytes, void *to, kgrade_error *err);
    void (*detach)(void *state);
    const struct judge_reference *reference; /* NULL: outputs are always compared on the host */
};

/* Of the program: what main.c and the library for interpreters serve. */
extern const struct judge_device judge_this_device;

/* The Python of a foreign task, in the interpreter that this process is; see python/judge_bridge.c.  Every buffer lies at
 * the place that the layout gives it. */
struct judge_python {
    /* *ret: task.json; the caller frees. */
    int (*describe)(const char *problem, char **ret, kgrade_error *err);
    int (*load)(const struct task *task, const char *files, kgrade_error *err);
    /* Writes the buffers that are inputs. */
    int (*inputs)(const struct task *task, const struct judge_case *c, uint64_t seed, uint8_t *to,
                  kgrade_error *err);
    /* wide: by index in the layout; outputs get double or int64_t. */
    int (*evaluate)(const struct task *task, const struct judge_case *c, const uint8_t *inputs,
                    void *const *wide, kgrade_error *err);
    /* Asks the task's own check, if it has one: *ret_decided. */
    int (*check)(const struct task *task, const struct judge_case *c, const uint8_t *inputs,
                 const uint8_t *outputs, bool *ret_decided, bool *ret_pass, kgrade_error *err);
};

/* python NULL: not in an interpreter. */
int judge_worker_main(const struct judge_device *device, const struct judge_python *python);

#endif
