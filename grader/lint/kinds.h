/* The kinds of answers that a task must tell apart, and how each is made. */
#ifndef KGRADE_LINT_KINDS_H
#define KGRADE_LINT_KINDS_H

#include "../judge/judge.h"
#include "lint.h"

/* One case with an arena and a judge. */
struct trial {
    struct lint *lint;
    const struct task_case *at;
    struct layout layout;
    uint64_t seed, poison, other_seed;
    int fd;
    uint8_t *arena;
    uint8_t *right; /* the arena with the reference's answer; NULL before it was asked for */
    struct judge_client judge;
};

/* Inputs of a foreign task, from its judge, into the arena. */
int trial_foreign_inputs(struct trial *t, struct finding *f);

/* Makes the answer in the arena.  1: this kind of answer means nothing in this case; -1 with f. */
typedef int answer_maker(struct trial *t, size_t param, struct finding *f);

enum wanted { FOUND_RIGHT, FOUND_WRONG };

struct kind {
    const char *name;
    answer_maker *make;
    bool per_input; /* one for each input */
    enum wanted wanted;
    const char *fix;
};

#define LINT_KINDS 12
extern const struct kind lint_kinds[LINT_KINDS];

#endif
