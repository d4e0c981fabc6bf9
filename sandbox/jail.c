#define _GNU_SOURCE
#include "jail.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fail.h"
#include "base/io.h"
#include "mounts.h"
#include "reduced.h"
#include "scratch.h"

_Static_assert(sizeof(struct jail_report) <= PIPE_BUF, "a report is written whole");

static const char setup_code[] = "jail_setup_failed";
static const char namespace_hint[] =
    "Run `kgrade doctor`. In a container: docker run --cap-add SYS_ADMIN --security-opt "
    "seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined. "
    "On the host: sysctl kernel.apparmor_restrict_unprivileged_userns=0 and "
    "user.max_user_namespaces above 0.";

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

/* The child at full level */

struct start {
    const struct jail_host *host;
    const struct jail_spec *spec;
    struct mounts *mounts; /* open if host->can_mount */
    int go;                /* read end: a byte comes when the user maps are written */
    int report;            /* write end */
    bool rehearse;
};

static int become_jail_user(kgrade_error *err)
{
    if (setresgid(JAIL_UID, JAIL_UID, JAIL_UID) || setresuid(JAIL_UID, JAIL_UID, JAIL_UID))
        return fail_errno(err, setup_code, NULL, "The jail's user cannot be taken on");
    /* After the change of user, which resets both. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || prctl(PR_SET_DUMPABLE, 0))
        return fail_errno(err, setup_code, NULL, "The jail's first process cannot be protected");
    return 0;
}

static int keep_only(const struct start *s, bool payload, kgrade_error *err)
{
    int keep[8 + JAIL_MAX_FDS + MOUNTS_MAX];
    size_t n = 0;
    keep[n++] = s->report;
    if (payload) {
        keep[n++] = s->go;
        keep[n++] = s->spec->stdin_fd;
        keep[n++] = s->spec->stdout_fd;
        keep[n++] = s->spec->stderr_fd;
        for (size_t i = 0; i < s->spec->n_fds; i++)
            keep[n++] = s->spec->fds[i];
        for (size_t i = 0; i < s->mounts->n; i++)
            keep[n++] = s->mounts->trees[i];
    }
    if (payload_close_others(keep, n))
        return fail_errno(err, setup_code, NULL, "Inherited descriptors cannot be closed");
    return 0;
}

static int set_up(const struct start *s, kgrade_error *err)
{
    if (keep_only(s, true, err))
        return -1;
    char byte;
    ssize_t got;
    do
        got = read(s->go, &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1)
        return fail(err, setup_code, NULL, "The spawner ended while it set up a jail.");
    if (!s->host->can_mount && mounts_open(s->mounts, NULL, err))
        return -1;
    if (become_jail_user(err))
        return -1;
    /* The spawner may have died before the death signal was in place. */
    struct pollfd p = {.fd = s->report, .events = 0};
    if (poll(&p, 1, 0) > 0 && p.revents & POLLERR)
        return fail(err, setup_code, NULL, "The spawner ended while it set up a jail.");
    static const char name[] = "kgrade";
    if (sethostname(name, sizeof name - 1))
        return fail_errno(err, setup_code, NULL, "The host name cannot be set");
    if (mounts_enter(s->mounts, s->spec, err))
        return -1;
    mounts_close(s->mounts);
    return payload_drop_privileges(err);
}

_Noreturn static void run_payload(const struct start *s)
{
    kgrade_error err = {0};
    setsid();
    int report = payload_place_fds(s->spec, s->report, &err);
    if (report < 0)
        payload_fail(s->report, &err);
    if (chdir(s->spec->workdir)) {
        fail_errno(&err, setup_code, NULL, "The working folder %s cannot be entered",
                   s->spec->workdir);
        payload_fail(report, &err);
    }
    /* The first process has the same user, so it counts. */
    if (payload_set_limits(&s->spec->limits, 1, &err) == 0)
        payload_exec(s->spec, &s->host->filters[s->spec->policy], &err);
    payload_fail(report, &err);
}

static volatile sig_atomic_t asked_to_end;

/* Only a sender outside the PID namespace has process 0 here. */
static void on_request(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    int saved = errno;
    if (info->si_code == SI_USER && info->si_pid == 0) {
        asked_to_end = 1;
        kill(-1, SIGKILL);
    }
    errno = saved;
}

static void set_request_blocked(int how)
{
    sigset_t request;
    sigemptyset(&request);
    sigaddset(&request, SIGTERM);
    sigprocmask(how, &request, NULL);
}

/* Reaps until the jail is empty.  The kernel would kill what is left when this process ends, but
 * would not count its CPU time. */
_Noreturn static void watch_over(pid_t payload, int report)
{
    set_request_blocked(SIG_UNBLOCK);
    for (;;) {
        int status;
        pid_t pid = wait4(-1, &status, 0, NULL);
        if (pid < 0 && errno == ECHILD)
            _exit(0);
        if (pid != payload)
            continue;
        struct jail_report r = {.kind = REPORT_ENDED, .wait_status = status};
        ssize_t ignored = asked_to_end ? 0 : write(report, &r, sizeof r);
        (void)ignored;
        kill(-1, SIGKILL);
    }
}

_Noreturn static void run_first(const struct start *s)
{
    kgrade_error err = {0};
    /* A request that comes before there is something to kill waits. */
    const struct sigaction request = {.sa_sigaction = on_request,
                                      .sa_flags = SA_SIGINFO | SA_RESTART};
    set_request_blocked(SIG_BLOCK);
    sigaction(SIGTERM, &request, NULL);
    if (set_up(s, &err))
        payload_fail(s->report, &err);
    if (s->rehearse)
        _exit(0);
    pid_t payload = fork();
    if (payload < 0) {
        fail_errno(&err, setup_code, NULL, "The jail's program cannot be forked");
        payload_fail(s->report, &err);
    }
    if (payload == 0)
        run_payload(s);
    prctl(PR_SET_NAME, "kgrade-jail");
    /* A pipe whose last writer inside closes must be seen closed outside. */
    if (close_range(0, 2, 0) || keep_only(s, false, &err))
        payload_fail(s->report, &err);
    watch_over(payload, s->report);
}

/* The spawner's side at full level */

static int write_proc(pid_t pid, const char *name, const char *text, kgrade_error *err)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t n = strlen(text);
    if (fd < 0 || write(fd, text, n) != (ssize_t)n)
        return fail_errno(err, setup_code, namespace_hint, "The jail's %s cannot be written", name);
    return 0;
}

static int write_maps(const struct jail_host *host, pid_t pid, unsigned slot, kgrade_error *err)
{
    char map[64];
    /* When memory runs out, jails go before the service.  Not worth failing for. */
    write_proc(pid, "oom_score_adj", "1000", NULL);
    unsigned uid = host->own_users ? JAIL_UID_BASE + slot : (unsigned)geteuid();
    unsigned gid = host->own_users ? JAIL_UID_BASE + slot : (unsigned)getegid();
    if (write_proc(pid, "setgroups", "deny", err))
        return -1;
    snprintf(map, sizeof map, "%u %u 1", (unsigned)JAIL_UID, gid);
    if (write_proc(pid, "gid_map", map, err))
        return -1;
    snprintf(map, sizeof map, "%u %u 1", (unsigned)JAIL_UID, uid);
    return write_proc(pid, "uid_map", map, err);
}

/* Supplementary groups that own the devices of the jail and may use them, for GPU nodes such as
 * root:render 0660.  They stay in force in a user namespace although it does not name them. */
static size_t device_groups(const struct jail_spec *spec, gid_t *groups)
{
    size_t n = 0;
    for (size_t i = 0; i < spec->n_binds; i++) {
        struct stat st;
        const struct jail_bind *b = &spec->binds[i];
        if (b->device && !stat(b->source, &st) && S_ISCHR(st.st_mode) && st.st_gid != 0 &&
            (st.st_mode & 0060) == 0060)
            groups[n++] = st.st_gid;
    }
    return n;
}

pid_t jail_clone(int flags, int *ret_pidfd)
{
    *ret_pidfd = -1;
#if defined(__s390x__) || defined(__CRIS__)
#error "clone takes its arguments in another order here"
#endif
    return (pid_t)syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, NULL, ret_pidfd, NULL, 0);
}

static int launch_full(const struct start *s, unsigned slot, struct jail_process *ret, int go,
                       kgrade_error *err)
{
    gid_t groups[JAIL_MAX_BINDS];
    if (s->host->own_users && setgroups(device_groups(s->spec, groups), groups))
        return fail_errno(err, setup_code, NULL, "The jail's groups cannot be set");
    int pidfd;
    pid_t pid = jail_clone(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                               CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP,
                           &pidfd);
    if (pid == 0)
        run_first(s);
    if (pid < 0)
        return fail_errno(err, setup_code, namespace_hint, "The jail's namespaces cannot be made");
    ret->pid = pid;
    ret->pidfd = pidfd;
    if (write_maps(s->host, pid, slot, err))
        return -1;
    if (write(go, "g", 1) != 1)
        return fail_errno(err, setup_code, NULL, "The jail's first process did not start");
    return 0;
}

/* Reaps without looking; for launches that failed half-way. */
static void discard(struct jail_process *p)
{
    if (p->pid > 0) {
        pidfd_send_signal(p->pidfd, SIGKILL, NULL, 0);
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
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
}

static int launch(const struct jail_host *host, const struct jail_spec *spec, unsigned slot,
                  bool rehearse, struct jail_process *p, kgrade_error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return fail_errno(err, setup_code, NULL, "A pipe to the jail cannot be made");
    p->report = ends[0];
    cleanup_close int report = ends[1];
    if (pipe2(ends, O_CLOEXEC))
        return fail_errno(err, setup_code, NULL, "A pipe to the jail cannot be made");
    cleanup_close int go_read = ends[0];
    cleanup_close int go_write = ends[1];

    if (host->level == SANDBOX_REDUCED) {
        p->control = steal_fd(&go_write);
        struct reduced_start s = {.host = host,
                                  .spec = spec,
                                  .slot = slot,
                                  .control = go_read,
                                  .report = report,
                                  .rehearse = rehearse};
        return reduced_launch(&s, p, err);
    }
    struct mounts mounts;
    mounts_plan(&mounts, spec);
    const uid_t user = JAIL_UID_BASE + slot;
    struct start s = {.host = host,
                      .spec = spec,
                      .mounts = &mounts,
                      .go = go_read,
                      .report = report,
                      .rehearse = rehearse};
    int r = -1;
    if (!host->can_mount || !mounts_open(&mounts, host->own_users ? &user : NULL, err))
        r = launch_full(&s, slot, p, go_write, err);
    mounts_close(&mounts);
    return r;
}

int jail_launch(const struct jail_host *host, const struct jail_spec *spec, unsigned slot,
                bool rehearse, struct jail_process *ret, kgrade_error *err)
{
    struct jail_process p = {.pidfd = -1, .report = -1, .control = -1, .started = io_now()};
    if (launch(host, spec, slot, rehearse, &p, err)) {
        discard(&p);
        return -1;
    }
    *ret = p;
    return 0;
}

void jail_process_kill(struct jail_process *p, bool at_once)
{
    if (p->control >= 0) {
        close(p->control);
        p->control = -1;
    } else if (p->scratch) {
        pidfd_send_signal(p->pidfd, SIGCONT, NULL, 0); /* in case the jail stopped it */
    } else {
        pidfd_send_signal(p->pidfd, at_once ? SIGKILL : SIGTERM, NULL, 0);
    }
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

void jail_finish(struct jail_process *p, enum jail_cause cause, struct jail_status *ret)
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
    discard(p);
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
            jail_process_kill(&p, true);
        struct jail_status status;
        jail_finish(&p, late ? JAIL_CAUSE_DEADLINE : JAIL_CAUSE_NONE, &status);
        if (status.end == JAIL_EXITED && status.code == 0)
            return 0;
        if (status.end == JAIL_NOT_STARTED)
            cause = status.error;
        else
            fail(&cause, setup_code, NULL, "A trial jail ended with %d, %d.", (int)status.end,
                 status.code);
    }
    return fail(err, "sandbox_unavailable", cause.hint[0] ? cause.hint : namespace_hint,
                "The %s sandbox cannot be had here. %s", sandbox_level_name(host->level),
                cause.message);
}
