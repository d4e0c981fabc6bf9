/*
 * One cgroup (version 2) per jail: limits that count for all its processes together, killing them
 * at once, and the kernel's word that none is left.
 *
 *     home                  see cgroup_home.h
 *     `- kgrade-PID-TIME    the group of one spawner
 *        |- spawner         the spawner itself
 *        `- jail-SLOT       one per running jail
 *
 * What the machine does not give is left out: without controllers there is still the killing.  A
 * group whose spawner has died is removed by the next one, with everything that runs in it.
 */
#ifndef KGRADE_SANDBOX_CGROUP_H
#define KGRADE_SANDBOX_CGROUP_H

#include "cgroup_home.h"
#include "sandbox.h"

struct cgroup_controllers {
    bool memory, pids, cpu;
};

struct cgroup_group {
    struct cgroup_home home;
    int home_fd; /* owned; -1 */
    int fd;      /* owned; -1: there is no group, and jails have no cgroups */
    char name[64];
    struct cgroup_controllers have;
    bool can_kill; /* cgroup.kill, Linux 5.14 */
};

#define CGROUP_NO_GROUP ((struct cgroup_group){.home_fd = -1, .fd = -1})

/* Makes the group of the calling process, moves this into it, and proves with a trial process that
 * jails can be made, killed and removed.  Error: `cgroup_unavailable`; then nothing has been
 * changed that lasts. */
int cgroup_group_open(struct cgroup_group *ret, kgrade_error *err);

/* Moves the calling process back and removes the group.  Its jails must be gone. */
void cgroup_group_close(struct cgroup_group *group);

/* Kills and removes the groups in a home whose spawner has died. */
void cgroup_sweep(const struct cgroup_home *home);

/* Makes the cgroup of a jail with its limits; `others` is added to the number of processes.
 * Returns the open folder for CLONE_INTO_CGROUP, -1 with error `jail_setup_failed`. */
int cgroup_jail_make(const struct cgroup_group *group, unsigned slot,
                     const struct jail_limits *limits, uint64_t others, kgrade_error *err);

/* Kills all processes of a jail at once, where the kernel can. */
void cgroup_jail_kill(const struct cgroup_group *group, unsigned slot);

/* Whether anything lives in the jail: 1, 0, -1 with errno. */
int cgroup_jail_populated(const struct cgroup_group *group, unsigned slot);

/* Fills in peak_bytes and out_of_memory, as far as they are known; else leaves them. */
void cgroup_jail_usage(const struct cgroup_group *group, unsigned slot, struct jail_status *status);

/* Removes the cgroup of a jail in which nothing lives any more; kills what does.  False: not yet. */
bool cgroup_jail_remove(const struct cgroup_group *group, unsigned slot);

/* The parts that only read or write the files of one cgroup, open as `folder`. */
int cgroup_limit(int folder, const struct cgroup_controllers *have,
                 const struct jail_limits *limits, uint64_t others, kgrade_error *err);
int cgroup_populated(int folder);
void cgroup_usage(int folder, struct jail_status *status);

#endif
