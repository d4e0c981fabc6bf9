/*
 * What a step has to say when it does not succeed: a verdict on the candidate, or a fault of the machine.
 *
 * Steps take `struct finding *` last, return 0 on success and -1 with the finding filled otherwise.
 */
#ifndef KGRADE_FINDING_H
#define KGRADE_FINDING_H

#include <stdbool.h>

#include "kgrade.h"

struct finding {
    kgrade_verdict verdict;
    kgrade_error reason;
    char *log;        /* compiler's or candidate's output, or NULL; owned */
    bool retryable;   /* whether the same request may succeed later */
    bool told;        /* the words are those of a process that the candidate could speak for */
    bool hides_fault; /* finding_hide made a refusal of what may be a fault of the device */
};

/* Sets verdict and reason; returns -1. */
int finding_set(struct finding *finding, kgrade_verdict verdict, const char *code, const char *hint,
                const char *format, ...) __attribute__((format(printf, 5, 6)));

/* A fault of the machine, from an error; returns -1. */
int finding_infrastructure(struct finding *finding, const kgrade_error *err);

/* For what came of a hidden case: only the bare fact of a failure may reach the author.  A fault of the machine is passed on
 * when it was seen from outside; what a process that knew the hidden dims says of one may be the candidate's
 * words.  Returns -1. */
int finding_hide(struct finding *finding);

void finding_free(struct finding *finding);

#endif
