/* The source file an author starts from (`kgrade new`), made from task.json alone. */
#ifndef KGRADE_SKELETON_H
#define KGRADE_SKELETON_H

#include "task.h"

/* For device "opencl", "cuda" or "hip"; language NULL: what the device's candidates are written in, else "python".  Caller frees.
 * NULL with `unknown_device`. */
char *skeleton_source(const struct task *task, const char *device, const char *language,
                      kgrade_error *err);

#endif
