/*
 * Problems that are Python: what an adapter makes of one, and how it becomes a folder of a task.
 *
 * The folder holds problem.json and the problem's own files, unchanged, as tasks/README.md has it for foreign tasks; task.json is made of that by
 * running the problem in a jail (kgrade_describe_task), which is not this file's business.
 */
#ifndef KGRADE_REGRADE_PROBLEM_H
#define KGRADE_REGRADE_PROBLEM_H

#include <jansson.h>
#include <stdbool.h>

#include "board.h"

/* Files of one problem, and bytes of each. */
#define REGRADE_MAX_PROBLEM_FILES 8u
#define REGRADE_MAX_PROBLEM_BYTES (256u << 10)
/* Characters of a task's name. */
#define REGRADE_MAX_TASK_NAME 64u

struct regrade_problem {
    const char *name;   /* of the task */
    const char *origin; /* where it was read: another problem of that name has another one */
    const json_t *json; /* problem.json, without "name" and "files" */
    /* {NAME: TEXT} in the order of "files": the module with the functions first. */
    const json_t *files;
    /* {DEVICE: TEXT}: a candidate in Python whose time a score of 1 is.  One that somebody put into the folder stays. */
    const json_t *baselines;
    const char *statement; /* Markdown, for people */
};

/* A task's name of a board's: "gpumode", "amd-fp8-mm" make "gpumode_amd_fp8_mm".  free() it; NULL is without memory. */
char *regrade_task_name(const char *prefix, const char *name);

/* Whether a line of a module in Python begins with one of "def NAME(", "class NAME", "NAME =". */
bool regrade_defines(const char *text, const char *name);

/* Whether a module's text imports FILE, a module beside it. */
bool regrade_imports(const char *text, const char *file);

/* A module in Python of several files, which the last of them, `last`, may import: {NAME: TEXT} as above, the others first.  free() it; NULL
 * is without memory. */
char *regrade_one_module(const json_t *files, const char *last);

/* Writes FOLDER/NAME.  What is there as it should be is left; *ret_changed: something was not, and a task.json that was made of it is
 * gone.  Errors: those of io_write_file, `out_of_memory`. */
int regrade_problem_write(const char *folder, const struct regrade_problem *problem,
                          bool *ret_changed, kgrade_error *err);

#endif
