/*
 * The sandbox: running a program that may be hostile, and knowing that it is gone afterwards.
 *
 * A caller starts one spawner, a small single-threaded process of its own, and asks it for jails. A
 * jail is one program with its own user, mount, PID, network, IPC, UTS, cgroup and time namespaces,
 * a private root that holds only what the caller binds, a system-call filter and limits.  The
 * spawner does all forking, so a threaded caller never forks.
 *
 * Every jail hangs on a leash: a socket pair whose one end the caller holds.  Closing that end, or
 * dying, kills the jail with everything in it; the spawner's death does the same.
 */
#ifndef KGRADE_SANDBOX_H
#define KGRADE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum sandbox_level {
    SANDBOX_FULL, /* namespaces, private root, filter, limits */
    /* Filter, no_new_privs, limits and process-tree kill only.  Files are confined by Landlock;
     * where the kernel has none, they stay readable to the candidate as far as permissions allow.
     * Paths of the jail in argv, env and workdir are replaced by the host's; see scratch.h. */
    SANDBOX_REDUCED,
};

const char *sandbox_level_name(enum sandbox_level level); /* "full" or "reduced" */

/* One thing that was tried at start, for `kgrade doctor`. */
struct sandbox_probe {
    const char *name; /* "user_namespace", "pid_namespace", "private_root", "seccomp", ... */
    bool works;
    bool required;    /* for SANDBOX_FULL */
    char detail[256]; /* what was seen */
    char fix[256];    /* how to get it; empty when it works */
};

#define SANDBOX_MAX_PROBES 16

/* Tries each mechanism in a child process.  Fills at most SANDBOX_MAX_PROBES entries, returns how
 * many. *ret_level is the best level this machine gives.  Leaves the caller's cgroup like
 * sandbox_start. */
size_t sandbox_probe_all(struct sandbox_probe probes[SANDBOX_MAX_PROBES],
                         enum sandbox_level *ret_level);

/* A running spawner; safe to use from several threads.  One that dies is started again for the next jail. */
struct sandbox;

struct sandbox_options {
    const char *spawner;      /* path of the kgrade-spawner program */
    enum sandbox_level level; /* of all jails; the caller has compared it with the probe */
};

/* Starts the spawner.  Errors: `sandbox_unavailable` (the level cannot be had; the hint says what
 * is missing), `spawner_failed`.
 *
 * Where the calling process is alone in a cgroup that has been delegated to it (systemd:
 * Delegate=yes), it moves with all its threads into a leaf of that, so that jails can have cgroups
 * with limits beside it.  Elsewhere nothing is moved, and jails do without. */
int sandbox_start(const struct sandbox_options *options, struct sandbox **ret, kgrade_error *err);

/* Kills every jail, ends the spawner and reaps it.  NULL is allowed. */
void sandbox_stop(struct sandbox *sandbox);

enum sandbox_level sandbox_level_of(const struct sandbox *sandbox);

/* Which system calls a jail may make. */
enum jail_policy {
    JAIL_BUILD,  /* a compiler: many processes, no network */
    JAIL_RECORD, /* the candidate's host code */
    JAIL_REPLAY, /* our code, the candidate's device code */
    JAIL_JUDGE,  /* our code only */
};

/* The jail has a user of its own where the spawner is root.  That user needs permission for what is
 * read below a source (the source itself may lie below closed folders at the full level), and gets
 * a writable source that belongs to the spawner's user as its own. */
struct jail_bind {
    const char *source; /* on the host; a missing source is an error unless optional */
    const char *target; /* absolute, inside the jail; NULL means the same as source */
    bool writable;
    bool optional;
    bool device; /* a device node: bound without nodev */
};

/* 0 is refused but where it says otherwise. */
struct jail_limits {
    uint64_t wall_ns;      /* from spawn to death, at most 24 hours */
    uint64_t cpu_seconds;  /* RLIMIT_CPU per process; 0: none */
    uint64_t cpu_percent;  /* of one CPU, for all processes together, by cgroup; 0: none */
    uint64_t memory_bytes; /* RLIMIT_AS per process; 0: none (a GPU driver reserves terabytes) */
    uint64_t data_bytes;   /* RLIMIT_DATA per process, private memory that it can write; 0: none */
    /* What all processes together may occupy, with /tmp and /dev/shm, by cgroup; 0: none. */
    uint64_t memory_total_bytes;
    uint64_t file_bytes; /* RLIMIT_FSIZE; 0: nothing can be written to files */
    uint64_t tmp_bytes;  /* size of the private /tmp, also of /dev/shm */
    uint64_t processes;  /* RLIMIT_NPROC, threads counted; also by cgroup */
    uint64_t open_files; /* RLIMIT_NOFILE */
};

#define JAIL_MAX_BINDS 48
#define JAIL_MAX_ARGS 128
#define JAIL_MAX_FDS 8

struct jail_spec {
    enum jail_policy policy;
    const char *const *argv; /* NULL-terminated; argv[0] is an absolute path inside the jail */
    const char *const *env;  /* NULL-terminated; the complete environment */
    const char *workdir;     /* inside the jail */
    const struct jail_bind *binds;
    size_t n_binds;
    int stdin_fd;   /* -1: /dev/null */
    int stdout_fd;  /* -1: /dev/null */
    int stderr_fd;  /* -1: /dev/null */
    const int *fds; /* become descriptors 3, 4, ... in the jail; everything else is closed */
    size_t n_fds;
    struct jail_limits limits;
};

/* The private root also holds: an empty writable /tmp (the place for HOME), /dev/shm (same size
 * limit), a fresh /proc showing only the jail, /dev/{null,zero,full,random,urandom}. */

enum jail_end {
    JAIL_EXITED,      /* code is the exit status */
    JAIL_SIGNALLED,   /* code is the signal */
    JAIL_DEADLINE,    /* killed at limits.wall_ns */
    JAIL_KILLED,      /* killed because the caller let go of the leash or asked */
    JAIL_NOT_STARTED, /* the sandbox itself failed; never the candidate's fault; see error */
};

struct jail_status {
    enum jail_end end;
    int code;
    uint64_t wall_ns;
    uint64_t cpu_ns; /* user + system, all processes that were reaped */
    /* The most that the whole jail occupied; without a memory cgroup (memory.peak, Linux 5.19) the
     * largest resident set of one process. */
    uint64_t peak_bytes;
    /* The kernel killed in the jail because it went over memory_total_bytes; then all of it is
     * killed, and `end` is JAIL_SIGNALLED.  Never set without a memory cgroup. */
    bool out_of_memory;
    kgrade_error error; /* for JAIL_NOT_STARTED */
};

struct jail; /* a running jail; owned by the caller */

/* Starts a jail; the caller's descriptors are duplicated, never taken.  Returns as soon as the
 * request is accepted; a set-up failure comes from jail_wait as JAIL_NOT_STARTED. */
int jail_spawn(struct sandbox *sandbox, const struct jail_spec *spec, struct jail **ret,
               kgrade_error *err);

/* Waits until everything in the jail is dead.  -1 with `io_timeout` when deadline (CLOCK_MONOTONIC
 * ns) passes first, `spawner_failed` when the spawner is gone. May be called again after
 * io_timeout. */
int jail_wait(struct jail *jail, uint64_t deadline, struct jail_status *ret, kgrade_error *err);

/* A descriptor that polls readable when the jail has ended.  Owned by the jail. */
int jail_poll_fd(const struct jail *jail);

/* Asks for the death of everything in the jail; returns at once; jail_wait tells when it is done.
 */
void jail_kill(struct jail *jail);

/* Kills if needed, waits for the end (bounded), frees. NULL is allowed. */
void jail_free(struct jail *jail);

static inline void cleanup_jail_(struct jail **jail)
{
    jail_free(*jail);
}
#define cleanup_jail __attribute__((cleanup(cleanup_jail_)))

#endif
