/* What the files of the adapter for KernelBench share. */
#ifndef KGRADE_REGRADE_KERNELBENCH_H
#define KGRADE_REGRADE_KERNELBENCH_H

#include "board.h"

/* Carries over the problem whose module is the file at path, NAME of them for people. */
int kernelbench_carry(const char *path, unsigned level, unsigned number, const char *name,
                      const struct regrade_sink *sink, struct regrade_carried *ret,
                      kgrade_error *err);

/* A problem's own module as a candidate for it, which can be recorded; free() it. */
char *kernelbench_candidate(const char *text);

#endif
