/*
 * The engine's devices, and a thread that checks those of which it is not known that they work: each
 * at the start, and again from time to time while its check fails.  So a device that comes back is
 * used again without a restart.
 */
#ifndef KGRADED_DEVICES_H
#define KGRADED_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kgrade/kgrade.h"

#define DEVICES_MOST 8
#define DEVICES_NAME_SIZE 24
/* Seconds from the start to the first check. */
#define DEVICES_FIRST_S 1
/* Seconds between checks of a device that does not work. */
#define DEVICES_RECHECK_S 30

struct devices;

/* Those that some task can be graded on.  Errors: `out_of_memory`, `thread_failed`. */
int devices_open(kgrade *engine, struct devices **ret, kgrade_error *err);
/* Ends the thread and frees.  False when a check is still under way at deadline (CLOCK_MONOTONIC ns):
 * then nothing is freed, and neither may the engine be.  NULL is allowed. */
bool devices_close(struct devices *devices, uint64_t deadline);

size_t devices_count(const struct devices *devices);
const char *devices_name(const struct devices *devices, size_t i);

/* Whether its last check passed and nothing has happened since; nothing is run.  err may be NULL.
 * Errors: `device_unchecked`, `device_suspect`, or why the check failed. */
int devices_health(const struct devices *devices, size_t i, kgrade_error *err);

#endif
