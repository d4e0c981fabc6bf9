/*
 * Making and ending one jail, from the spawner's side.  Single-threaded callers only.
 *
 * Full level: the child is pid 1 of a PID namespace.  It builds the private root, gives up every
 * privilege, forks the payload and reaps.  When it ends, the kernel kills all that is left in the
 * namespace before the child can be waited for, so a reaped child means an empty jail.
 */
#ifndef KGRADE_SANDBOX_JAIL_H
#define KGRADE_SANDBOX_JAIL_H

#include <sys/types.h>

#include "cgroup.h"
#include "filter.h"
#include "payload.h"
#include "sandbox.h"

#define JAIL_UID 1000         /* inside */
#define JAIL_UID_BASE 64000   /* outside, plus the slot, when the spawner is root */
#define JAIL_MAX_RUNNING 256u /* slots */

/* What the spawner found out about its machine, and its compiled filters. */
struct jail_host {
    enum sandbox_level level;
    bool can_mount; /* the spawner itself may make detached mounts */
    bool own_users; /* each slot has a user of its own outside */
    struct filter filters[JAIL_JUDGE + 1];
    struct cgroup_group cgroups; /* filled in by the spawner */
};

struct jail_process {
    pid_t pid;     /* of the first process; 0: none */
    int pidfd;     /* polls readable when it is dead */
    int report;    /* read end */
    int control;   /* write end: closing it asks for the end of the jail; then -1 */
    char *scratch; /* reduced level: the private folder; owned */
    bool in_cgroup;
    unsigned slot;
    uint64_t started;
};

/* Looks at the machine and compiles the filters.  Errors: `sandbox_unavailable`. */
int jail_host_init(struct jail_host *ret, enum sandbox_level level, kgrade_error *err);
void jail_host_free(struct jail_host *host);

/* fork with namespace flags and a pidfd, into a cgroup that is open as a folder unless that is -1; 0
 * in the child, -1 with errno. */
pid_t jail_clone(unsigned flags, int cgroup, int *ret_pidfd);

/* Starts a jail.  spec must have passed protocol_parse; its descriptors stay the caller's.  With
 * `rehearse` everything is set up and taken down again without running a program. */
int jail_launch(const struct jail_host *host, const struct jail_spec *spec, unsigned slot,
                bool rehearse, struct jail_process *ret, kgrade_error *err);

/* Starts the killing; the pidfd tells when it is done.  First without `at_once`: the jail's first
 * process then kills and reaps, which counts all CPU time; if that has not worked after
 * JAIL_GRACE_NS, with it. */
void jail_process_kill(const struct jail_host *host, struct jail_process *p, bool at_once);

#define JAIL_GRACE_NS 200000000ull

/* Why the spawner ended a jail, if it did. */
enum jail_cause { JAIL_CAUSE_NONE, JAIL_CAUSE_DEADLINE, JAIL_CAUSE_KILLED };

/* Reaps a jail whose first process is dead (blocks until it is) and says how it ended. */
void jail_finish(const struct jail_host *host, struct jail_process *p, enum jail_cause cause,
                 struct jail_status *ret);

/* Releases what a finished jail had.  False as long as anything may live in its cgroup, which is
 * then being killed: to be called again. */
bool jail_release(const struct jail_host *host, struct jail_process *p);

/* Rehearses a jail at the host's level.  Error: `sandbox_unavailable`. */
int jail_rehearse(const struct jail_host *host, kgrade_error *err);

#endif
