/* What the skeletons of several languages share.  For the skeleton*.c of this folder only. */
#ifndef KGRADE_SKELETON_PARTS_H
#define KGRADE_SKELETON_PARTS_H

#include <stdio.h>

#include "task.h"

#define SKELETON_MAX_NAME 64

/* The output that the skeleton's grid covers. */
const struct param *skeleton_output(const struct task *task);
const struct param *skeleton_stream(const struct task *task); /* NULL: the task passes none */

void skeleton_free_name(const struct task *task, const char *wish, char ret[SKELETON_MAX_NAME]);

/* A line about a parameter, and about a tolerance. */
void skeleton_parameter(FILE *out, const struct param *param);
void skeleton_tolerance(FILE *out, const struct tolerance *tolerance);

/* A kernel in OpenCL C that covers the output; each line stands between `before` and `after`, but for the last one, which
 * nothing follows. */
void skeleton_opencl_kernel(FILE *out, const struct task *task, const char *function,
                            const char *items, const char *index, const char *before,
                            const char *after);

int skeleton_write_python(FILE *out, const struct task *task, const char *device,
                          kgrade_error *err);

#endif
