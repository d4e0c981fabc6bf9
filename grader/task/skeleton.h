/* The source file an author starts from (`kgrade new`), made from task.json alone. */
#ifndef KGRADE_SKELETON_H
#define KGRADE_SKELETON_H

#include "task.h"

/* For device "opencl" or "cuda".  Caller frees. NULL with `unknown_device`. */
char *skeleton_source(const struct task *task, const char *device, kgrade_error *err);

#endif
