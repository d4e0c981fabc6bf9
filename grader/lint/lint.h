/*
 * The task linter: a task is fit for use when its files agree with each other, and when only a kernel that does the work passes.
 *
 * Each check reports once: what was tried, or the first thing that is wrong and what to do about it.
 */
#ifndef KGRADE_LINT_H
#define KGRADE_LINT_H

#include <jansson.h>

#include "../device.h"
#include "../grade/engine.h"

struct lint {
    kgrade *engine;
    const struct task *task;
    json_t *findings;
    bool passed;
};

void lint_report(struct lint *l, const char *check, bool ok, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The dims of a case as JSON, for messages. */
struct lint_dims {
    char text[256];
};
struct lint_dims lint_dims(const struct task *task, const int64_t *dims);

/* The bytes of the roofline are exactly what the buffers of a case hold. */
void lint_roofline(struct lint *l);

/* Answers that cost less than the work are found wrong, on every benchmark case that a CPU can judge; what the task allows
 * is found right. */
void lint_answers(struct lint *l);

/* The baseline is accepted as a candidate.  A verdict about its speed alone is no matter here. */
void lint_baseline(struct lint *l, const struct device *device);

#endif
