/* What boot.py is told of a task and of a call, as JSON. */
#ifndef KGRADE_PYTHON_ARGUMENTS_H
#define KGRADE_PYTHON_ARGUMENTS_H

#include "../task/task.h"

/* The caller frees; NULL with the error. */
char *arguments_task(const struct task *task, kgrade_error *err);

/* pointers[i]: the address of buffer or stream i of the task's parameters. */
char *arguments_call(const struct task *task, const int64_t *dims,
                     void *const pointers[TASK_MAX_PARAMS], kgrade_error *err);

#endif
