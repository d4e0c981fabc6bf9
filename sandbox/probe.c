/*
 * What this machine gives a sandbox.  Every mechanism is really tried, in a child process; a
 * version number or a file in /proc would not show what a container or a security module forbids.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fail.h"
#include "base/io.h"
#include "jail.h"
#include "landlock.h"
#include "sandbox.h"

#define PROBE_NS (15 * IO_NS_PER_S)

struct outcome {
    bool works;
    char detail[256];
    char fix[256]; /* more exact than the table's; may be empty */
};

struct context {
    struct jail_host host;
    bool have_host;
    kgrade_error host_error;
};

static void say(struct outcome *o, bool works, const char *what)
{
    o->works = works;
    snprintf(o->detail, sizeof o->detail, "%.255s", what);
}

static void say_errno(struct outcome *o, const char *what)
{
    o->works = false;
    snprintf(o->detail, sizeof o->detail, "%s: %s", what, strerror(errno));
}

static bool read_line(const char *path, char *line, size_t size)
{
    cleanup_file FILE *f = fopen(path, "re");
    if (!f || !fgets(line, (int)size, f))
        return false;
    line[strcspn(line, "\n")] = 0;
    return true;
}

static bool sysctl_is(const char *path, const char *value)
{
    char line[32];
    return read_line(path, line, sizeof line) && !strcmp(line, value);
}

/* Namespaces */

static bool try_namespaces(int flags, struct outcome *o)
{
    int pidfd;
    pid_t pid = jail_clone((unsigned)flags, -1, &pidfd);
    if (pid == 0)
        _exit(0);
    if (pid < 0) {
        say_errno(o, "clone");
        return false;
    }
    close(pidfd);
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    say(o, status == 0, status == 0 ? "can be made" : "the child died");
    return o->works;
}

static void probe_user(struct context *c, struct outcome *o)
{
    (void)c;
    if (try_namespaces(CLONE_NEWUSER, o))
        return;
    const char *fix = NULL;
    if (sysctl_is("/proc/sys/user/max_user_namespaces", "0"))
        fix = "sysctl user.max_user_namespaces=10000";
    else if (sysctl_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"))
        fix = "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile with "
              "\"userns,\" for kgrade-spawner";
    else if (sysctl_is("/proc/sys/kernel/unprivileged_userns_clone", "0"))
        fix = "sysctl kernel.unprivileged_userns_clone=1";
    if (fix)
        snprintf(o->fix, sizeof o->fix, "%s", fix);
}

static void probe_pid(struct context *c, struct outcome *o)
{
    (void)c;
    try_namespaces(CLONE_NEWUSER | CLONE_NEWPID, o);
}

static void probe_network(struct context *c, struct outcome *o)
{
    (void)c;
    try_namespaces(CLONE_NEWUSER | CLONE_NEWNET, o);
}

static void probe_other(struct context *c, struct outcome *o)
{
    (void)c;
    try_namespaces(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP, o);
}

static void probe_root(struct context *c, struct outcome *o)
{
    kgrade_error err = c->host_error;
    uint64_t start = io_now();
    if (c->have_host && jail_rehearse(&c->host, &err) == 0) {
        o->works = true;
        snprintf(
            o->detail, sizeof o->detail,
            "a jail with tmpfs root, read-only binds and fresh /proc was built and left in %.1f ms",
            (double)(io_now() - start) / 1e6);
        return;
    }
    say(o, false, err.message);
    snprintf(o->fix, sizeof o->fix, "%.255s", err.hint);
}

static void probe_users(struct context *c, struct outcome *o)
{
    say(o, c->host.own_users,
        c->host.own_users ? "each jail has a user of its own on the host"
                          : "jails have the user of the service on the host");
}

/* Kernel features */

static void probe_seccomp(struct context *c, struct outcome *o)
{
    kgrade_error err = c->host_error;
    if (!c->have_host) {
        say(o, false, err.message);
        return;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || filter_load(&c->host.filters[JAIL_JUDGE])) {
        say_errno(o, "loading a filter");
        return;
    }
    if (unshare(0) == 0 || errno != EPERM)
        say(o, false, "a filter was loaded but does not act");
    else
        say(o, true, "a filter was loaded and acts");
}

static void probe_landlock(struct context *c, struct outcome *o)
{
    (void)c;
    int abi = landlock_abi();
    o->works = abi > 0;
    if (abi)
        snprintf(o->detail, sizeof o->detail, "ABI %d%s", abi,
                 abi >= 6 ? "" : " (signals between jails of one user: from ABI 6)");
    else
        say_errno(o, "not available");
}

static void probe_mount_api(struct context *c, struct outcome *o)
{
    (void)c;
    int pidfd;
    pid_t pid = jail_clone(CLONE_NEWUSER | CLONE_NEWNS, -1, &pidfd);
    if (pid == 0) {
        struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID};
        _exit(mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof attr) ? errno & 0xff : 0);
    }
    if (pid < 0) {
        say_errno(o, "cannot be tried without user and mount namespaces");
        return;
    }
    close(pidfd);
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    errno = WEXITSTATUS(status);
    if (status == 0)
        say(o, true, "mount_setattr works");
    else
        say_errno(o, "mount_setattr");
}

static void probe_close_range(struct context *c, struct outcome *o)
{
    (void)c;
    int fd = dup(0);
    if (fd < 0)
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || close_range((unsigned)fd, (unsigned)fd, 0))
        say_errno(o, "close_range");
    else
        say(o, true, "works");
}

static void probe_pidfd(struct context *c, struct outcome *o)
{
    (void)c;
    int pidfd;
    pid_t pid = jail_clone(0, -1, &pidfd);
    if (pid == 0) {
        for (;;)
            pause();
    }
    if (pid < 0) {
        say_errno(o, "clone with CLONE_PIDFD");
        return;
    }
    int r = pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
    if (r) {
        say_errno(o, "pidfd_send_signal");
        kill(pid, SIGKILL);
    }
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    if (r == 0 && poll(&p, 1, 5000) == 1)
        say(o, true, "signals and reports the end of a process");
    else if (r == 0)
        say(o, false, "does not report the end of a process");
    close(pidfd);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void probe_time(struct context *c, struct outcome *o)
{
    (void)c;
    int pidfd;
    pid_t pid = jail_clone(CLONE_NEWUSER, -1, &pidfd);
    if (pid == 0)
        _exit(unshare(CLONE_NEWTIME) ? errno & 0xff : 0);
    if (pid < 0) {
        say_errno(o, "cannot be tried without user namespaces");
        return;
    }
    close(pidfd);
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    errno = WEXITSTATUS(status);
    if (status == 0)
        say(o, true, "can be made");
    else
        say_errno(o, "unshare");
}

/* Control groups.  Opening a group runs a trial process through one. */

static bool open_group(struct cgroup_group *ret, struct outcome *o)
{
    kgrade_error err;
    if (cgroup_home_step_aside(&cgroup_real_places, &err) == 0 && cgroup_group_open(ret, &err) == 0)
        return true;
    say(o, false, err.message);
    snprintf(o->fix, sizeof o->fix, "%.255s", err.hint);
    return false;
}

static void probe_cgroup_limits(struct context *c, struct outcome *o)
{
    (void)c;
    struct cgroup_group g;
    if (!open_group(&g, o)) {
        char why[200];
        snprintf(why, sizeof why, "%.199s", o->detail);
        snprintf(o->detail, sizeof o->detail, "%s  Limits hold per process.", why);
        return;
    }
    o->works = g.have.memory && g.have.pids;
    snprintf(o->detail, sizeof o->detail, "in %.100s: memory %s, processes %s, CPU %s%s",
             g.home.folder, g.have.memory ? "yes" : "no", g.have.pids ? "yes" : "no",
             g.have.cpu ? "yes" : "no", o->works ? "" : "; limits hold per process");
    if (!o->works && g.home.is_root)
        snprintf(o->fix, sizeof o->fix,
                 "pass the controllers memory, pids and cpu on in cgroup.subtree_control of "
                 "%.60s, or run under systemd with Delegate=yes; a controller that is mounted as "
                 "version 1 cannot be had",
                 g.home.folder);
    cgroup_group_close(&g);
}

static void probe_cgroup_kill(struct context *c, struct outcome *o)
{
    (void)c;
    struct cgroup_group g;
    if (!open_group(&g, o))
        return;
    if (g.can_kill)
        snprintf(o->detail, sizeof o->detail, "a trial process in %.180s was killed and gone",
                 g.home.folder);
    else
        say(o, false, "cgroups have no cgroup.kill");
    o->works = g.can_kill;
    cgroup_group_close(&g);
}

/* All together */

#define CONTAINER_FIX                                                                              \
    "in a container: docker run --cap-add SYS_ADMIN --security-opt seccomp=unconfined "            \
    "--security-opt apparmor=unconfined --security-opt systempaths=unconfined"

static const struct test {
    const char *name;
    bool required;
    bool needs_user_namespace; /* which is the first test */
    void (*run)(struct context *, struct outcome *);
    const char *fix;
} tests[] = {
    {"user_namespace", true, false, probe_user, CONTAINER_FIX},
    {"pid_namespace", true, true, probe_pid, CONTAINER_FIX},
    {"network_namespace", true, true, probe_network, CONTAINER_FIX},
    {"other_namespaces", true, true, probe_other, CONTAINER_FIX},
    {"mount_api", true, true, probe_mount_api, "Linux 5.12 or newer is needed"},
    {"private_root", true, true, probe_root, CONTAINER_FIX},
    {"seccomp", true, false, probe_seccomp, "a kernel with CONFIG_SECCOMP_FILTER is needed"},
    {"close_range", true, false, probe_close_range, "Linux 5.9 or newer is needed"},
    {"pidfd", true, false, probe_pidfd, "Linux 5.4 or newer is needed"},
    {"user_per_jail", false, false, probe_users,
     "run the service as root, with users 64000 to 64255 mapped"},
    {"landlock", false, false, probe_landlock,
     "boot with landlock among the security modules (lsm=landlock,...)"},
    {"time_namespace", false, true, probe_time, "a kernel with CONFIG_TIME_NS is needed"},
    {"cgroup_limits", false, false, probe_cgroup_limits,
     "boot with the unified hierarchy, and run under systemd with Delegate=yes"},
    {"cgroup_kill", false, false, probe_cgroup_kill, "Linux 5.14 or newer is needed"},
};

_Static_assert(sizeof tests / sizeof *tests <= SANDBOX_MAX_PROBES, "room for all probes");

static void run_in_child(const struct test *test, struct context *c, struct outcome *ret)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) {
        say_errno(ret, "no pipe");
        return;
    }
    cleanup_close int from = ends[0];
    cleanup_close int to = ends[1];
    pid_t pid = fork();
    if (pid == 0) {
        /* Else the files that map its user belong to root. */
        prctl(PR_SET_DUMPABLE, 1);
        struct outcome o;
        memset(&o, 0, sizeof o);
        test->run(c, &o);
        _exit(write(to, &o, sizeof o) == (ssize_t)sizeof o ? 0 : 1);
    }
    if (pid < 0) {
        say_errno(ret, "no child process");
        return;
    }
    close(steal_fd(&to));
    kgrade_error err;
    if (io_read_full(from, ret, sizeof *ret, io_now() + PROBE_NS, &err)) {
        memset(ret, 0, sizeof *ret);
        say(ret, false, "the trial died or hung");
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

size_t sandbox_probe_all(struct sandbox_probe probes[SANDBOX_MAX_PROBES],
                         enum sandbox_level *ret_level)
{
    struct context c;
    memset(&c, 0, sizeof c);
    cgroup_home_step_aside(&cgroup_real_places, NULL); /* the children try again, and tell */
    c.have_host = jail_host_init(&c.host, SANDBOX_FULL, &c.host_error) == 0;
    size_t n = 0;
    *ret_level = SANDBOX_FULL;
    for (; n < sizeof tests / sizeof *tests; n++) {
        struct outcome o;
        memset(&o, 0, sizeof o);
        run_in_child(&tests[n], &c, &o);
        struct sandbox_probe *p = &probes[n];
        memset(p, 0, sizeof *p);
        p->name = tests[n].name;
        p->required = tests[n].required;
        p->works = o.works;
        snprintf(p->detail, sizeof p->detail, "%s", o.detail);
        bool follows = tests[n].needs_user_namespace && !probes[0].works;
        if (!o.works)
            snprintf(p->fix, sizeof p->fix, "%s",
                     follows    ? "see user_namespace"
                     : o.fix[0] ? o.fix
                                : tests[n].fix);
        if (p->required && !p->works)
            *ret_level = SANDBOX_REDUCED;
    }
    if (c.have_host)
        jail_host_free(&c.host);
    return n;
}
