/* The last steps of a jailed process, the same at every level: descriptors, limits, filter, exec.
 */
#ifndef KGRADE_SANDBOX_PAYLOAD_H
#define KGRADE_SANDBOX_PAYLOAD_H

#include "filter.h"
#include "sandbox.h"

/* What the processes of a jail tell the spawner over a pipe; shorter than PIPE_BUF, so it is
 * written whole. */
struct jail_report {
    enum { REPORT_NONE, REPORT_FAILED, REPORT_ENDED } kind;
    int wait_status; /* for REPORT_ENDED: of the payload, as wait(2) gives it */
    uint64_t at;     /* for REPORT_ENDED: when all was dead, CLOCK_MONOTONIC ns; 0: see the exit */
    kgrade_error error; /* for REPORT_FAILED */
};

/* Reports a set-up failure and ends the process. */
_Noreturn void payload_fail(int report, const kgrade_error *error);

/* Closes every descriptor from 3 on except the n in keep, which gets sorted.  -1 with errno. */
int payload_close_others(int *keep, size_t n);

/* Sorts out the descriptors: 0, 1, 2 and the extra ones; returns where the report pipe is now. */
int payload_place_fds(const struct jail_spec *spec, int report, kgrade_error *err);

/* Resource limits.  `others` is added to the number of processes: those that count but are not the
 * jail's. */
int payload_set_limits(const struct jail_limits *limits, uint64_t others, kgrade_error *err);

/* no_new_privs and no capabilities, now and by any exec. */
int payload_drop_privileges(kgrade_error *err);

/* Loads the filter and executes; returns only on failure. */
int payload_exec(const struct jail_spec *spec, const struct filter *filter, kgrade_error *err);

#endif
