#define _GNU_SOURCE
#include "jail.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fail.h"
#include "base/io.h"
#include "full.h"
#include "reduced.h"
#include "scratch.h"

_Static_assert(sizeof(struct jail_report) <= PIPE_BUF, "a report is written whole");

#define DISCARD_NS IO_NS_PER_S /* how long the spawner waits for what it could not start */

static const char setup_code[] = "jail_setup_failed";

/* The host */

/* Whether the user namespace that the spawner lives in has the users that slots are mapped to. */
static bool has_slot_users(void)
{
    if (geteuid() != 0)
        return false;
    static const char *const maps[] = {"/proc/self/uid_map", "/proc/self/gid_map"};
    for (size_t i = 0; i < 2; i++) {
        cleanup_file FILE *f = fopen(maps[i], "re");
        bool found = false;
        unsigned long inside, outside, n;
        while (f && !found && fscanf(f, "%lu %lu %lu", &inside, &outside, &n) == 3)
            found = inside <= JAIL_UID_BASE && inside + n >= JAIL_UID_BASE + JAIL_MAX_RUNNING;
        if (!found)
            return false;
    }
    return true;
}

int jail_host_init(struct jail_host *ret, enum sandbox_level level, kgrade_error *err)
{
    memset(ret, 0, sizeof *ret);
    ret->level = level;
    ret->cgroups = CGROUP_NO_GROUP;
    ret->can_mount = mounts_allowed();
    ret->own_users = has_slot_users();
    static const enum jail_policy policies[] = {JAIL_BUILD, JAIL_RECORD, JAIL_REPLAY, JAIL_JUDGE};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (filter_compile(policies[i], &ret->filters[policies[i]], err)) {
            jail_host_free(ret);
            return -1;
        }
    return 0;
}

void jail_host_free(struct jail_host *host)
{
    for (size_t i = 0; i <= JAIL_JUDGE; i++)
        filter_free(&host->filters[i]);
}

pid_t jail_clone(unsigned flags, int cgroup, int *ret_pidfd)
{
    *ret_pidfd = -1;
#if defined(__s390x__) || defined(__CRIS__)
#error "clone takes its arguments in another order here"
#endif
    if (cgroup < 0)
        return (pid_t)syscall(SYS_clone, (unsigned long)flags | CLONE_PIDFD | SIGCHLD, NULL,
                              ret_pidfd, NULL, 0);
    struct clone_args args = {.flags = flags | CLONE_PIDFD | CLONE_INTO_CGROUP,
                              .pidfd = (uintptr_t)ret_pidfd,
                              .exit_signal = SIGCHLD,
                              .cgroup = (unsigned)cgroup};
    return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

bool jail_release(const struct jail_host *host, struct jail_process *p)
{
    if (p->in_cgroup && !cgroup_jail_remove(&host->cgroups, p->slot))
        return false;
    if (p->pidfd >= 0)
        close(p->pidfd);
    if (p->report >= 0)
        close(p->report);
    if (p->control >= 0)
        close(p->control);
    if (p->scratch)
        scratch_remove(p->scratch);
    free(p->scratch);
    *p = (struct jail_process){.pidfd = -1, .report = -1, .control = -1};
    return true;
}

/* Reaps without looking; for launches that failed half-way. */
static void discard(const struct jail_host *host, struct jail_process *p)
{
    const struct timespec pause = {.tv_nsec = 200000};
    if (p->pid > 0) {
        pidfd_send_signal(p->pidfd, SIGKILL, NULL, 0);
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    for (uint64_t end = io_now() + DISCARD_NS; !jail_release(host, p); nanosleep(&pause, NULL))
        if (io_now() >= end)
            p->in_cgroup = false; /* whoever has the slot next tries again */
}

static int launch(const struct jail_host *host, const struct jail_spec *spec, bool rehearse,
                  struct jail_process *p, kgrade_error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return fail_errno(err, setup_code, NULL, "A pipe to the jail cannot be made");
    p->report = ends[0];
    cleanup_close int report = ends[1];
    if (pipe2(ends, O_CLOEXEC))
        return fail_errno(err, setup_code, NULL, "A pipe to the jail cannot be made");
    p->control = ends[1];
    cleanup_close int control = ends[0];
    cleanup_close int cgroup = -1;
    if (host->cgroups.fd >= 0) {
        /* At the full level the first process counts, too. */
        cgroup = cgroup_jail_make(&host->cgroups, p->slot, &spec->limits,
                                  host->level == SANDBOX_FULL ? 1 : 0, err);
        if (cgroup < 0)
            return -1;
        p->in_cgroup = true;
    }

    if (host->level == SANDBOX_REDUCED) {
        struct reduced_start s = {.host = host,
                                  .spec = spec,
                                  .slot = p->slot,
                                  .control = control,
                                  .report = report,
                                  .cgroup = cgroup,
                                  .rehearse = rehearse};
        return reduced_launch(&s, p, err);
    }
    struct full_start s = {.host = host,
                           .spec = spec,
                           .control = control,
                           .report = report,
                           .cgroup = cgroup,
                           .rehearse = rehearse};
    return full_launch(&s, p, err);
}

int jail_launch(const struct jail_host *host, const struct jail_spec *spec, unsigned slot,
                bool rehearse, struct jail_process *ret, kgrade_error *err)
{
    struct jail_process p = {
        .pidfd = -1, .report = -1, .control = -1, .slot = slot, .started = io_now()};
    if (launch(host, spec, rehearse, &p, err)) {
        discard(host, &p);
        return -1;
    }
    *ret = p;
    return 0;
}

void jail_process_kill(const struct jail_host *host, struct jail_process *p, bool at_once)
{
    if (p->control >= 0)
        close(steal_fd(&p->control));
    if (!at_once)
        return;
    if (p->in_cgroup)
        cgroup_jail_kill(&host->cgroups, p->slot);
    /* At the reduced level it is needed to tidy up, and the jail may have stopped it. */
    pidfd_send_signal(p->pidfd, host->level == SANDBOX_REDUCED ? SIGCONT : SIGKILL, NULL, 0);
}

/* The reports that the jail left in its pipe; nothing writes to it any more.  A failure counts more
 * than an end. */
static struct jail_report read_reports(int pipe)
{
    struct jail_report r, found = {0};
    fcntl(pipe, F_SETFL, O_NONBLOCK);
    while (read(pipe, &r, sizeof r) == (ssize_t)sizeof r)
        if (found.kind != REPORT_FAILED)
            found = r;
    return found;
}

static uint64_t to_ns(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * IO_NS_PER_S + (uint64_t)t->tv_usec * 1000;
}

void jail_finish(const struct jail_host *host, struct jail_process *p, enum jail_cause cause,
                 struct jail_status *ret)
{
    struct rusage use;
    memset(&use, 0, sizeof use);
    int first_status = 0;
    while (wait4(p->pid, &first_status, 0, &use) < 0 && errno == EINTR)
        ;
    p->pid = 0;
    memset(ret, 0, sizeof *ret); /* travels as bytes */
    ret->wall_ns = io_now() - p->started;
    ret->cpu_ns = to_ns(&use.ru_utime) + to_ns(&use.ru_stime);
    ret->peak_bytes = (uint64_t)use.ru_maxrss * 1024;
    if (p->in_cgroup)
        cgroup_jail_usage(&host->cgroups, p->slot, ret);

    const struct jail_report report = read_reports(p->report);
    if (report.at)
        ret->wall_ns = report.at - p->started;
    if (report.kind == REPORT_FAILED) {
        ret->end = JAIL_NOT_STARTED;
        ret->error = report.error;
    } else if (report.kind == REPORT_ENDED && WIFEXITED(report.wait_status)) {
        ret->end = JAIL_EXITED;
        ret->code = WEXITSTATUS(report.wait_status);
    } else if (report.kind == REPORT_ENDED) {
        ret->end = JAIL_SIGNALLED;
        ret->code = WTERMSIG(report.wait_status);
    } else if (cause != JAIL_CAUSE_NONE) {
        ret->end = cause == JAIL_CAUSE_DEADLINE ? JAIL_DEADLINE : JAIL_KILLED;
        ret->code = SIGKILL;
    } else if (WIFEXITED(first_status)) {
        ret->end = JAIL_EXITED; /* a rehearsal */
        ret->code = WEXITSTATUS(first_status);
    } else {
        ret->end = JAIL_SIGNALLED; /* for example by the kernel when memory ran out */
        ret->code = WTERMSIG(first_status);
    }
}

int jail_rehearse(const struct jail_host *host, kgrade_error *err)
{
    static const char *const argv[] = {"/rehearsal", NULL};
    static const char *const env[] = {NULL};
    const struct jail_spec spec = {
        .policy = JAIL_JUDGE,
        .argv = argv,
        .env = env,
        .workdir = "/tmp",
        .stdin_fd = -1,
        .stdout_fd = -1,
        .stderr_fd = -1,
        .limits = {.wall_ns = IO_NS_PER_S, .tmp_bytes = 1 << 20, .processes = 8, .open_files = 64},
    };
    struct jail_process p;
    kgrade_error cause = {0};
    if (jail_launch(host, &spec, JAIL_MAX_RUNNING - 1, true, &p, &cause) == 0) {
        struct pollfd dead = {.fd = p.pidfd, .events = POLLIN};
        bool late = poll(&dead, 1, 10000) <= 0;
        if (late)
            jail_process_kill(host, &p, true);
        struct jail_status status;
        jail_finish(host, &p, late ? JAIL_CAUSE_DEADLINE : JAIL_CAUSE_NONE, &status);
        discard(host, &p);
        if (status.end == JAIL_EXITED && status.code == 0)
            return 0;
        if (status.end == JAIL_NOT_STARTED)
            cause = status.error;
        else
            fail(&cause, setup_code, NULL, "A trial jail ended with %d, %d.", (int)status.end,
                 status.code);
    }
    return fail(err, "sandbox_unavailable", cause.hint[0] ? cause.hint : full_hint,
                "The %s sandbox cannot be had here. %s", sandbox_level_name(host->level),
                cause.message);
}
