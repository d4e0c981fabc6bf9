/*
 * The judge: a process that computes what the answer should have been and compares.  No candidate code, host or device,
 * ever runs in it; the arena is mapped read-only, but where a foreign task's inputs are made in it; outputs are bytes to be compared.
 *
 * Messages (wire.h), grader -> judge, one answer each:
 *   {"op":"ready"}                                 -> {"ok":true} when it has started
 *   {"op":"open","task":TEXT} + arena descriptor   -> {"ok":true}
 *   {"op":"reference"} + reference.so as a descriptor -> {"ok":true}
 *   {"op":"describe"} + problem.json with its files as a blob -> {"ok":true} + task.json as a blob   (python/problem.py)
 *   {"op":"python"} + the task's Python as a blob  -> {"ok":true,"fills":bool}   in place of "reference", for foreign tasks;
 *                                                fills: it can write inputs into the arena
 *   {"op":"inputs","dims":[..],"seed":"HEX"}[+ a memory file for them, the first time]
 *                                                  -> {"ok":true}         makes a sample's inputs, as the case lies in the arena:
 *                                                there, unless a file has come
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

/*
 * For foreign tasks, whose inputs and answers are then made on the device: none of it goes through the host's memory.  An
 * address is the device's, as the task's Python gets it.  What these functions have returned from is done.
 */
struct judge_memory {
    /* *ret: where a case of so many bytes lies in the arena, which attach has mapped for writing. */
    int (*arena)(void *state, uint64_t bytes, uint64_t *ret, kgrade_error *err);
    /* *ret: zeros.  -1 with `judge_memory` when there are not so many. */
    int (*take)(void *state, uint64_t bytes, uint64_t *ret, kgrade_error *err);
    void (*give_back)(void *state, uint64_t at);
    /* What was given back and is held for the next `take` is free for all from now on: for the task's Python, too. */
    int (*trim)(void *state, kgrade_error *err);
    /* Out of the arena, from an offset on. */
    int (*copy)(void *state, uint64_t offset, uint64_t bytes, uint64_t to, kgrade_error *err);
    /* Whether two ranges hold the same bytes; both begin at multiples of 16. */
    int (*same)(void *state, uint64_t a, uint64_t b, uint64_t bytes, bool *ret, kgrade_error *err);
    /* What the outputs of a case held before the replay, into memory for all of it. */
    int (*poison)(void *state, const struct task *task, const struct judge_case *c, uint64_t to,
                  kgrade_error *err);
    /* compare_output with addresses of the device; poison 0: there was none. */
    int (*compare)(void *state, enum dtype type, uint64_t got, uint64_t poison, uint64_t expected,
                   uint64_t count, const struct tolerance *tolerance, struct comparison *ret,
                   kgrade_error *err);
    /* From and to the host, for Python that has its arrays there. */
    int (*store)(uint64_t at, const void *from, uint64_t bytes, kgrade_error *err);
    int (*fetch)(uint64_t at, uint64_t bytes, void *to, kgrade_error *err);
};

struct judge_device {
    const char *name;

    /* NULL function: nothing.  What can be made before anything is known of the grade (context): called as soon
     * as the process runs, which may be long before it is needed. */
    int (*start)(kgrade_error *err);
    /* Maps the arena: read-only, or where `memory` is to write a foreign task's inputs there for writing. */
    int (*attach)(int arena_fd, bool fills, void **ret_state, kgrade_error *err);
    /* Copies bytes of the arena to host memory. */
    int (*read)(void *state, uint64_t offset, uint64_t bytes, void *to, kgrade_error *err);
    void (*detach)(void *state);
    const struct judge_reference *reference; /* NULL: outputs are always compared on the host */
    const struct judge_memory *memory;       /* NULL: foreign tasks are judged on the host */
};

/* Of the program: what main.c and the library for interpreters serve. */
extern const struct judge_device judge_this_device;

/* The Python of a foreign task, in the interpreter that this process is; see python/judge_bridge.c.  Every buffer lies at
 * the place that the layout gives it; on_device: at addresses of struct judge_memory. */
struct judge_python {
    /* *ret: task.json; the caller frees. */
    int (*describe)(const char *problem, char **ret, kgrade_error *err);
    int (*load)(const struct task *task, const char *files, kgrade_error *err);
    /* Writes the buffers that are inputs. */
    int (*inputs)(const struct task *task, const struct judge_case *c, uint64_t seed,
                  bool on_device, uint8_t *to, kgrade_error *err);
    /* wide: by index in the layout; outputs get double or int64_t. */
    int (*evaluate)(const struct task *task, const struct judge_case *c, bool on_device,
                    const uint8_t *inputs, void *const *wide, kgrade_error *err);
    /* Asks the task's own check, if it has one: *ret_decided. */
    int (*check)(const struct task *task, const struct judge_case *c, bool on_device,
                 const uint8_t *inputs, const uint8_t *outputs, bool *ret_decided, bool *ret_pass,
                 kgrade_error *err);
};

/* python NULL: not in an interpreter. */
int judge_worker_main(const struct judge_device *device, const struct judge_python *python);

#endif
