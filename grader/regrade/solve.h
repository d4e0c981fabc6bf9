/* Candidates that export solve() or solution(), as entries of our tasks. */
#ifndef KGRADE_REGRADE_SOLVE_H
#define KGRADE_REGRADE_SOLVE_H

#include "board.h"

struct solve_problem {
    const char *task;       /* ours */
    const char *entry;      /* what the platform calls the function */
    const char *types;      /* of its parameters, as solve_signature writes them */
    const char *parameters; /* of the task's entry point, without the stream */
    const char *arguments;  /* that the function gets for them */
};

/* All that are known. */
const struct solve_problem *solve_problems(size_t *ret_n);

/* The task like the problem of that file or folder; NULL: none. */
const char *solve_task_of(const char *name);

/* The name of the function that a source defines, "solve" or "solution", with the types of its parameters in ret; NULL: neither. */
const char *solve_signature(const char *source, size_t size, char *ret, size_t ret_size);

/* A candidate for problem->task made of one for the problem; the caller frees.  Errors: those of kgrade_bundle. */
int solve_wrap(const struct solve_problem *problem, const char *source, size_t size, char **ret,
               kgrade_error *err);

#endif
