/*
 * The full level: the first process of a jail, with namespaces and a root of its own.
 *
 * No jail outlives the spawner.  Its first process has a death signal, which acts also while it is
 * stopped, but may be asked for too late: nothing is sent for a parent that is dead already.  So it
 * also watches the control pipe, whose writing end only the spawner keeps.
 */
#ifndef KGRADE_SANDBOX_FULL_H
#define KGRADE_SANDBOX_FULL_H

#include "jail.h"
#include "mounts.h"

struct full_start {
    const struct jail_host *host;
    const struct jail_spec *spec;
    int control; /* read end: a byte comes when the user maps are written; its closing asks for the
                    end of the jail */
    int report;  /* write end */
    int cgroup;  /* folder, for all of the jail; -1: none */
    bool rehearse;
    struct mounts mounts; /* filled in by full_launch */
};

/* What to do where the kernel refuses namespaces. */
extern const char full_hint[];

/* Fills in p->pid and p->pidfd; p->control and p->slot are set.  Error: `jail_setup_failed`. */
int full_launch(struct full_start *start, struct jail_process *p, kgrade_error *err);

#endif
