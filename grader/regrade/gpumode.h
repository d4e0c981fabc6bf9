/* What the files of the adapter for GPU MODE share. */
#ifndef KGRADE_REGRADE_GPUMODE_H
#define KGRADE_REGRADE_GPUMODE_H

#include "board.h"

/* Before the names of its problems' tasks. */
#define GPUMODE_PREFIX "gpumode"

bool gpumode_ends_with(const char *path, const char *end);

/* Whether all of the hardware that a board names, "MI300, MI355X", is AMD's; NULL: it names none. */
bool gpumode_is_amd(const char *hardware);

/* gpumode_export.c */
bool gpumode_is_export(const char *path); /* it begins like one */
int gpumode_read_export(const char *path, const struct regrade_wishes *wishes,
                        const struct regrade_sink *sink, kgrade_error *err);

/* gpumode_problem.c: carries the problem over whose task.yml said `description`.  It is ROOT/DIRECTORY, and files of it may lie elsewhere
 * below ROOT; DIRECTORY may be of several parts. */
int gpumode_carry(const char *root, const char *directory, const char *board,
                  const json_t *description, const struct regrade_sink *sink,
                  struct regrade_carried *ret, kgrade_error *err);

#endif
