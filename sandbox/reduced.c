#define _GNU_SOURCE
#include "reduced.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fail.h"
#include "base/io.h"
#include "landlock.h"
#include "mounts.h"
#include "protocol.h"
#include "scratch.h"
#include "tree.h"

#define STRAYS_NS (2 * IO_NS_PER_S) /* how long the spawner may be held up by unkillable strays */

static const char setup_code[] = "jail_setup_failed";

int reduced_adopt_orphans(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void reduced_kill_strays(const pid_t *known, size_t n)
{
    tree_kill_below_self(known, n, io_now() + STRAYS_NS);
}

/* The payload */

static int replace_all(const char *const *from, const struct reduced_start *s, const char *scratch,
                       const char **to, size_t room, kgrade_error *err)
{
    size_t n = 0;
    for (; from[n] && n + 1 < room; n++) {
        to[n] = scratch_replace_paths(from[n], s->spec->binds, s->spec->n_binds, scratch);
        if (!to[n])
            return fail(err, setup_code, NULL, "No memory to replace paths.");
    }
    to[n] = NULL;
    return 0;
}

static int become_slot_user(const struct reduced_start *s, kgrade_error *err)
{
    if (!s->host->own_users)
        return 0;
    uid_t user = JAIL_UID_BASE + s->slot;
    if (setresgid(user, user, user) || setresuid(user, user, user))
        return fail_errno(err, setup_code, NULL, "The jail's user cannot be taken on");
    return 0;
}

/* Returns only on failure; *report follows the pipe to where it is moved.  Its memory goes with
 * exec. */
static int run_payload(const struct reduced_start *s, const char *scratch, int *report,
                       kgrade_error *err)
{
    const char *argv[JAIL_MAX_ARGS + 1];
    const char *env[PROTOCOL_MAX_ENV + 1];
    struct jail_spec spec = *s->spec;
    char *workdir = scratch_replace_paths(spec.workdir, spec.binds, spec.n_binds, scratch);
    if (!workdir)
        return fail(err, setup_code, NULL, "No memory to replace paths.");
    if (replace_all(spec.argv, s, scratch, argv, JAIL_MAX_ARGS + 1, err) ||
        replace_all(spec.env, s, scratch, env, PROTOCOL_MAX_ENV + 1, err))
        return -1;
    spec.argv = argv;
    spec.env = env;
    spec.workdir = workdir;

    setsid();
    int moved = payload_place_fds(&spec, *report, err);
    if (moved < 0)
        return -1;
    *report = moved;
    /* Where processes are counted per user of the whole machine, those that are there already add
     * up. */
    uint64_t others = s->host->own_users ? 0 : tree_threads_of_user(geteuid());
    if (become_slot_user(s, err) || payload_drop_privileges(err))
        return -1;
    if (chdir(workdir))
        return fail_errno(err, setup_code,
                          "At the reduced level the folders above it must be searchable for the "
                          "jail's user.",
                          "The working folder %s cannot be entered", workdir);
    if (landlock_confine(&spec, scratch, err) || payload_set_limits(&spec.limits, others, err))
        return -1;
    return payload_exec(&spec, &s->host->filters[spec.policy], err);
}

/* The first process */

_Noreturn static void end(const struct reduced_start *s, const char *scratch,
                          const int *wait_status)
{
    if (s->cgroup >= 0)
        cgroup_write(s->cgroup, "cgroup.kill", "1"); /* all at once, where the kernel has it */
    /* What cannot be killed is not dead: wait for it like a PID namespace would. */
    tree_kill_below_self(NULL, 0, IO_NO_DEADLINE);
    if (wait_status) {
        struct jail_report r = {.kind = REPORT_ENDED, .wait_status = *wait_status, .at = io_now()};
        ssize_t ignored = write(s->report, &r, sizeof r);
        (void)ignored;
    }
    /* Here and not in the spawner, which a million files must not hold up. */
    scratch_remove(scratch);
    _exit(0);
}

/* Reaps what there is; ends the process when the payload is among it. */
static void reap(const struct reduced_start *s, const char *scratch, pid_t payload)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        if (pid == payload)
            end(s, scratch, &status);
}

_Noreturn static void watch_over(const struct reduced_start *s, const char *scratch, pid_t payload,
                                 int signals)
{
    for (;;) {
        struct pollfd fds[] = {{.fd = s->control, .events = POLLIN},
                               {.fd = signals, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0)
            continue;
        if (fds[0].revents)
            end(s, scratch, NULL); /* the spawner asks, or is gone */
        struct signalfd_siginfo info;
        if (fds[1].revents && read(signals, &info, sizeof info) > 0)
            reap(s, scratch, payload);
    }
}

/* When memory runs out, jails go before the service.  Not worth failing for. */
static void prefer_for_oom(void)
{
    prctl(PR_SET_DUMPABLE, 1); /* else the file belongs to root */
    cleanup_close int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    ssize_t ignored = fd < 0 ? 0 : write(fd, "1000", 4);
    (void)ignored;
}

static int set_up(const struct reduced_start *s, int *ret_signals, kgrade_error *err)
{
    int keep[6 + JAIL_MAX_FDS] = {s->control,        s->report,          s->cgroup,
                                  s->spec->stdin_fd, s->spec->stdout_fd, s->spec->stderr_fd};
    for (size_t i = 0; i < s->spec->n_fds; i++)
        keep[6 + i] = s->spec->fds[i];
    sigset_t all;
    sigfillset(&all);
    if (payload_close_others(keep, 6 + s->spec->n_fds))
        return fail_errno(err, setup_code, NULL, "Inherited descriptors cannot be closed");
    prefer_for_oom();
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) || prctl(PR_SET_DUMPABLE, 0) ||
        sigprocmask(SIG_SETMASK, &all, NULL) || setsid() < 0)
        return fail_errno(err, setup_code, NULL, "The jail's first process cannot be protected");
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    *ret_signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (*ret_signals < 0)
        return fail_errno(err, setup_code, NULL, "The jail's first process cannot hear of deaths");
    return 0;
}

_Noreturn static void run_first(const struct reduced_start *s, const char *scratch)
{
    kgrade_error err = {0};
    int signals = -1;
    if (set_up(s, &signals, &err))
        payload_fail(s->report, &err);
    int pidfd;
    pid_t payload = jail_clone(0, s->cgroup, &pidfd);
    if (payload < 0) {
        fail_errno(&err, setup_code, NULL, "The jail's program cannot be forked");
        payload_fail(s->report, &err);
    }
    if (payload == 0) {
        int report = s->report;
        if (s->rehearse) {
            if (become_slot_user(s, &err) || payload_drop_privileges(&err) ||
                landlock_confine(s->spec, scratch, &err))
                payload_fail(report, &err);
            _exit(0);
        }
        run_payload(s, scratch, &report, &err);
        payload_fail(report, &err);
    }
    prctl(PR_SET_NAME, "kgrade-jail");
    int keep[] = {s->control, s->report, s->cgroup, signals};
    if (close_range(0, 2, 0) || payload_close_others(keep, 4)) {
        kill(payload, SIGKILL);
        _exit(1);
    }
    watch_over(s, scratch, payload, signals);
}

/* The spawner's side */

int reduced_launch(const struct reduced_start *s, struct jail_process *ret, kgrade_error *err)
{
    const uid_t user = JAIL_UID_BASE + s->slot;
    for (size_t i = 0; i < s->spec->n_binds; i++)
        if (mounts_give(&s->spec->binds[i], s->host->own_users ? &user : NULL, err))
            return -1;
    ret->scratch = scratch_make(s->host->own_users ? &user : NULL, err);
    if (!ret->scratch)
        return -1;
    int pidfd;
    pid_t pid = jail_clone(0, -1, &pidfd);
    if (pid == 0)
        run_first(s, ret->scratch);
    if (pid < 0)
        return fail_errno(err, setup_code, NULL, "The jail's first process cannot be forked");
    ret->pid = pid;
    ret->pidfd = pidfd;
    return 0;
}
