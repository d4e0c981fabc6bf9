/* The task's reference.c at work: what the outputs should have been, computed by the CPU. */
#ifndef KGRADE_JUDGE_HOST_H
#define KGRADE_JUDGE_HOST_H

#include "../task/call.h"
#include "worker.h"

struct host_reference {
    const struct task *task;           /* borrowed */
    struct call *call;                 /* owned */
    void (*function)(void);            /* NULL: not loaded */
    const struct judge_python *python; /* in place of the two, for a foreign task */
};

static inline bool host_reference_ready(const struct host_reference *reference)
{
    return reference->function || reference->python;
}

/* `reference` of the shared object; the library stays loaded.  -1 with `reference_failed`. */
int host_reference_load(struct host_reference *ret, const struct task *task, int library_fd,
                        kgrade_error *err);
/* The same for a foreign task: its Python, a text of JSON. */
int host_reference_load_python(struct host_reference *ret, const struct task *task,
                               const struct judge_python *python, const char *files,
                               kgrade_error *err);
void host_reference_free(struct host_reference *reference);

/* Values in the reference's types for every buffer, by index in the layout. */
struct operands {
    void *wide[TASK_MAX_PARAMS];
    size_t n;
    uint8_t *inputs; /* of a foreign task, as the case lies in the arena; else NULL */
};

void operands_free(struct operands *operands);
#define cleanup_operands __attribute__((cleanup(operands_free)))

/* How the inputs differ from what was drawn: for finding out what depends on them. */
struct host_twist {
    size_t param; /* drawn from `seed` instead; SIZE_MAX: none */
    uint64_t seed;
    unsigned
        mantissa_bits; /* floating-point inputs are rounded to so many explicit ones; 0: they are not */
};

/* Draws the inputs of a case again and runs the reference.  `data`: what the case's buffers held, by offset;
 * *ret_changed becomes true when an input among it is not what was drawn. NULL: nothing is compared.  twist NULL: none.
 * On failure, too, ret is to be freed. */
int host_evaluate(const struct host_reference *reference, const struct judge_case *c,
                  const uint8_t *data, const struct host_twist *twist, struct operands *ret,
                  bool *ret_changed, kgrade_error *err);

/* Writes what a perfect kernel would into the outputs of an arena: the reference's answer, rounded once. */
int host_answer(const struct host_reference *reference, const struct judge_case *c,
                const struct host_twist *twist, uint8_t *arena, kgrade_error *err);

/* Of a foreign task that has a check of its own: what that says of the outputs.  *ret_decided: there is one. */
int host_check(const struct host_reference *reference, const struct judge_case *c,
               const uint8_t *data, const struct operands *operands, bool *ret_decided,
               bool *ret_pass, kgrade_error *err);

/* Compares the outputs with the operands' values.  ret: by index in the layout; inputs are left out. */
int host_compare(const struct task *task, const struct judge_case *c, const uint8_t *data,
                 const struct operands *operands, struct comparison *ret, kgrade_error *err);

/* Whether the device's reference gives what this one gives on the task's correctness cases.  A task's larger cases are
 * left out, but one case is always compared.  -1 with `reference_disagrees`. */
int host_check_device(const struct host_reference *reference, const struct judge_device *device,
                      void *state, kgrade_error *err);

#endif
