#define _GNU_SOURCE
#include "full.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fail.h"

static const char setup_code[] = "jail_setup_failed";
const char full_hint[] =
    "Run `kgrade doctor`. In a container: docker run --cap-add SYS_ADMIN --security-opt "
    "seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined. "
    "On the host: sysctl kernel.apparmor_restrict_unprivileged_userns=0 and "
    "user.max_user_namespaces above 0.";

/* The first process */

static int become_jail_user(kgrade_error *err)
{
    if (setresgid(JAIL_UID, JAIL_UID, JAIL_UID) || setresuid(JAIL_UID, JAIL_UID, JAIL_UID))
        return fail_errno(err, setup_code, NULL, "The jail's user cannot be taken on");
    /* After the change of user, which resets both. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || prctl(PR_SET_DUMPABLE, 0))
        return fail_errno(err, setup_code, NULL, "The jail's first process cannot be protected");
    return 0;
}

static int keep_own_descriptors(struct full_start *s, kgrade_error *err)
{
    int keep[5 + JAIL_MAX_FDS + MOUNTS_MAX] = {s->report, s->control, s->spec->stdin_fd,
                                               s->spec->stdout_fd, s->spec->stderr_fd};
    size_t n = 5;
    for (size_t i = 0; i < s->spec->n_fds; i++)
        keep[n++] = s->spec->fds[i];
    for (size_t i = 0; i < s->mounts.n; i++)
        keep[n++] = s->mounts.trees[i];
    if (payload_close_others(keep, n))
        return fail_errno(err, setup_code, NULL, "Inherited descriptors cannot be closed");
    return 0;
}

/* The namespaces that clone cannot make: of cgroups, whose root is to be the jail's own cgroup, and
 * of time, which the payload enters when it is forked.  Its clocks show the host's time. */
static int unshare_late(kgrade_error *err)
{
    if (unshare(CLONE_NEWCGROUP))
        return fail_errno(err, setup_code, full_hint, "The jail's cgroups cannot be hidden");
    /* EINVAL: this kernel has none.  ENOSPC: the operator allows none. */
    if (unshare(CLONE_NEWTIME) && errno != EINVAL && errno != ENOSPC)
        return fail_errno(err, setup_code, full_hint, "The jail's time cannot be set apart");
    return 0;
}

static int set_up(struct full_start *s, kgrade_error *err)
{
    if (keep_own_descriptors(s, err))
        return -1;
    char byte;
    ssize_t got;
    do
        got = read(s->control, &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1)
        return fail(err, setup_code, NULL, "The spawner ended while it set up a jail.");
    if (unshare_late(err))
        return -1;
    if (!s->host->can_mount && mounts_open(&s->mounts, NULL, err))
        return -1;
    if (become_jail_user(err))
        return -1;
    static const char name[] = "kgrade";
    if (sethostname(name, sizeof name - 1))
        return fail_errno(err, setup_code, NULL, "The host name cannot be set");
    if (mounts_enter(&s->mounts, s->spec, err))
        return -1;
    mounts_close(&s->mounts);
    return payload_drop_privileges(err);
}

_Noreturn static void run_payload(struct full_start *s)
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

/* Reaps all that is dead and kills the rest once the payload is among it.  Ends the process when the
 * jail is empty. */
static void reap(pid_t payload, int report, bool asked_to_end)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != payload)
            continue;
        struct jail_report r = {.kind = REPORT_ENDED, .wait_status = status};
        ssize_t ignored = asked_to_end ? 0 : write(report, &r, sizeof r);
        (void)ignored;
        kill(-1, SIGKILL);
    }
    if (pid < 0 && errno == ECHILD)
        _exit(0);
}

/* The kernel would kill what is left when this process ends, but would not count its CPU time. */
_Noreturn static void watch_over(struct full_start *s, pid_t payload, int signals)
{
    bool asked_to_end = false;
    for (;;) {
        struct pollfd fds[] = {{.fd = asked_to_end ? -1 : s->control, .events = POLLIN},
                               {.fd = signals, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0)
            continue;
        if (fds[0].revents) { /* the spawner asks, or is gone */
            asked_to_end = true;
            kill(-1, SIGKILL);
        }
        struct signalfd_siginfo info;
        if (fds[1].revents && read(signals, &info, sizeof info) > 0)
            reap(payload, s->report, asked_to_end);
    }
}

/* Blocks the news of deaths and makes them readable. */
static int hear_of_deaths(void)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

_Noreturn static void run_first(struct full_start *s)
{
    kgrade_error err = {0};
    if (set_up(s, &err))
        payload_fail(s->report, &err);
    if (s->rehearse)
        _exit(0);
    int signals = hear_of_deaths();
    if (signals < 0) {
        fail_errno(&err, setup_code, NULL, "The jail's first process cannot hear of deaths");
        payload_fail(s->report, &err);
    }
    pid_t payload = fork();
    if (payload < 0) {
        fail_errno(&err, setup_code, NULL, "The jail's program cannot be forked");
        payload_fail(s->report, &err);
    }
    if (payload == 0)
        run_payload(s);
    prctl(PR_SET_NAME, "kgrade-jail");
    /* A pipe whose last writer inside closes must be seen closed outside. */
    int keep[] = {s->control, s->report, signals};
    if (close_range(0, 2, 0) || payload_close_others(keep, 3))
        _exit(1);
    watch_over(s, payload, signals);
}

/* The spawner's side */

static int write_proc(pid_t pid, const char *name, const char *text, kgrade_error *err)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t n = strlen(text);
    if (fd < 0 || write(fd, text, n) != (ssize_t)n)
        return fail_errno(err, setup_code, full_hint, "The jail's %s cannot be written", name);
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

static int start_first(struct full_start *s, struct jail_process *p, kgrade_error *err)
{
    gid_t groups[JAIL_MAX_BINDS];
    if (s->host->own_users && setgroups(device_groups(s->spec, groups), groups))
        return fail_errno(err, setup_code, NULL, "The jail's groups cannot be set");
    int pidfd;
    pid_t pid = jail_clone(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                               CLONE_NEWIPC | CLONE_NEWUTS,
                           s->cgroup, &pidfd);
    if (pid == 0)
        run_first(s);
    if (pid < 0)
        return fail_errno(err, setup_code, full_hint, "The jail's namespaces cannot be made");
    p->pid = pid;
    p->pidfd = pidfd;
    if (write_maps(s->host, pid, p->slot, err))
        return -1;
    if (write(p->control, "g", 1) != 1)
        return fail_errno(err, setup_code, NULL, "The jail's first process did not start");
    return 0;
}

int full_launch(struct full_start *s, struct jail_process *p, kgrade_error *err)
{
    mounts_plan(&s->mounts, s->spec);
    const uid_t user = JAIL_UID_BASE + p->slot;
    int r = -1;
    if (!s->host->can_mount || !mounts_open(&s->mounts, s->host->own_users ? &user : NULL, err))
        r = start_first(s, p, err);
    mounts_close(&s->mounts);
    return r;
}
