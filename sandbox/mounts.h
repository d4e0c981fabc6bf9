/*
 * The private root of a jail: a read-only tmpfs that holds mounts of what the caller binds, and
 * nothing else of the host.
 *
 * Sources are turned into detached mounts before anything is covered, by the spawner with its own
 * rights where it may mount, else by the child in its new namespaces.
 */
#ifndef KGRADE_SANDBOX_MOUNTS_H
#define KGRADE_SANDBOX_MOUNTS_H

#include <sys/types.h>

#include "sandbox.h"

#define MOUNTS_STANDARD 5 /* /dev/null and its relatives */
#define MOUNTS_MAX (JAIL_MAX_BINDS + MOUNTS_STANDARD)

struct mounts {
    struct jail_bind binds[MOUNTS_MAX];
    int trees[MOUNTS_MAX]; /* detached mounts, owned; -1: not open, or an optional one that is
                              absent */
    size_t n;
};

/* Fills in the standard devices and the caller's binds; opens nothing. */
void mounts_plan(struct mounts *mounts, const struct jail_spec *spec);

/* Opens all detached mounts; with give_to, does what mounts_give does.  Error: `jail_setup_failed`.
 */
int mounts_open(struct mounts *mounts, const uid_t *give_to, kgrade_error *err);

void mounts_close(struct mounts *mounts);

/* In the child: builds the root from open mounts and moves into it.  Error: `jail_setup_failed`. */
int mounts_enter(struct mounts *mounts, const struct jail_spec *spec, kgrade_error *err);

/* Checks that a source is there.  A writable file or folder of the caller's effective user is given
 * to `user` and its group, if not NULL, so that the jail can write to it.  Error:
 * `jail_setup_failed`. */
int mounts_give(const struct jail_bind *bind, const uid_t *user, kgrade_error *err);

/* True if this process may make detached mounts of the host's files. */
bool mounts_allowed(void);

#endif
