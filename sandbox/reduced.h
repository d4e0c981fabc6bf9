/*
 * The reduced level, for machines that forbid namespaces.
 *
 * There are no mounts, so the paths of the jail are replaced by the host's in arguments,
 * environment and working folder (scratch.h).  The first process is a subreaper: whatever its
 * descendants do, they stay below it, and it kills them until none is left.  Landlock, where the
 * kernel has it, limits files to what is bound.
 *
 * Limits of this level: a path that the program makes up itself is not replaced; when the spawner
 * is not root the jail has its user, so on kernels without Landlock's signal scope it can signal
 * that user's processes; the private folder has no size limit but RLIMIT_FSIZE per file; /dev/shm
 * is the host's, and with Landlock not there at all.
 */
#ifndef KGRADE_SANDBOX_REDUCED_H
#define KGRADE_SANDBOX_REDUCED_H

#include "jail.h"

struct reduced_start {
    const struct jail_host *host;
    const struct jail_spec *spec;
    unsigned slot;
    int control; /* read end; its closing asks for the end of the jail */
    int report;  /* write end */
    int cgroup;  /* folder, for the program and what it starts; -1: none */
    bool rehearse;
};

/* Fills ret->pid, pidfd and scratch.  Error: `jail_setup_failed`. */
int reduced_launch(const struct reduced_start *start, struct jail_process *ret, kgrade_error *err);

/* Makes the spawner the parent of what a jail leaves behind when its first process is killed. */
int reduced_adopt_orphans(void);

/* Kills what was left behind; `known` are the first processes of jails that go on. */
void reduced_kill_strays(const pid_t *known, size_t n);

#endif
