#define _GNU_SOURCE
#include "payload.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fail.h"

#define STACK_SOFT_BYTES (8ull << 20)
#define STACK_HARD_BYTES (64ull << 20)

static const char setup_code[] = "jail_setup_failed";

_Noreturn void payload_fail(int report, const kgrade_error *error)
{
    struct jail_report r = {.kind = REPORT_FAILED, .error = *error};
    /* If the pipe is broken, the spawner is gone and nobody asks. */
    ssize_t ignored = write(report, &r, sizeof r);
    (void)ignored;
    _exit(127);
}

static int by_value(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

int payload_close_others(int *keep, size_t n)
{
    qsort(keep, n, sizeof *keep, by_value);
    unsigned next = 3;
    for (size_t i = 0; i < n; i++) {
        if (keep[i] < (int)next)
            continue;
        unsigned fd = (unsigned)keep[i];
        if (fd > next && close_range(next, fd - 1, 0))
            return -1;
        next = fd + 1;
    }
    return close_range(next, ~0u, 0);
}

int payload_place_fds(const struct jail_spec *spec, int report, kgrade_error *err)
{
    enum { FIRST_FREE = 64 };
    int wanted[3 + JAIL_MAX_FDS];
    const int standard[3] = {spec->stdin_fd, spec->stdout_fd, spec->stderr_fd};
    size_t n = 3 + spec->n_fds;
    /* First everything out of the way, then each to its place. */
    for (size_t i = 0; i < n; i++) {
        int from = i < 3 ? standard[i] : spec->fds[i - 3];
        wanted[i] = from < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC)
                             : fcntl(from, F_DUPFD_CLOEXEC, FIRST_FREE);
        if (wanted[i] >= 0 && wanted[i] < FIRST_FREE)
            wanted[i] = fcntl(wanted[i], F_DUPFD_CLOEXEC, FIRST_FREE);
        if (wanted[i] < 0)
            return fail_errno(err, setup_code, NULL, "Descriptor %zu of the jail cannot be made",
                              i);
    }
    int moved = fcntl(report, F_DUPFD_CLOEXEC, FIRST_FREE);
    if (moved < 0)
        return fail_errno(err, setup_code, NULL, "The report pipe cannot be moved");
    for (size_t i = 0; i < n; i++)
        if (dup2(wanted[i], (int)i) < 0)
            return fail_errno(err, setup_code, NULL, "Descriptor %zu of the jail cannot be placed",
                              i);
    report = (int)n;
    if (dup3(moved, report, O_CLOEXEC) < 0 || close_range((unsigned)n + 1, ~0u, 0))
        return fail_errno(err, setup_code, NULL, "Inherited descriptors cannot be closed");
    return report;
}

static int limit(__rlimit_resource_t what, uint64_t soft, uint64_t hard)
{
    struct rlimit r = {.rlim_cur = soft, .rlim_max = hard};
    if (!setrlimit(what, &r))
        return 0;
    if (errno != EPERM)
        return -1;
    /* The inherited hard limit is tighter, and only a privileged process may raise it. */
    struct rlimit have;
    if (getrlimit(what, &have))
        return -1;
    r.rlim_max = have.rlim_max < hard ? have.rlim_max : hard;
    r.rlim_cur = soft < r.rlim_max ? soft : r.rlim_max;
    return setrlimit(what, &r);
}

int payload_set_limits(const struct jail_limits *l, uint64_t others, kgrade_error *err)
{
    uint64_t memory = l->memory_bytes ? l->memory_bytes : RLIM_INFINITY;
    uint64_t data = l->data_bytes ? l->data_bytes : RLIM_INFINITY;
    bool failed = limit(RLIMIT_AS, memory, memory) || limit(RLIMIT_DATA, data, data) ||
                  limit(RLIMIT_FSIZE, l->file_bytes, l->file_bytes) ||
                  limit(RLIMIT_NPROC, l->processes + others, l->processes + others) ||
                  limit(RLIMIT_NOFILE, l->open_files, l->open_files) || limit(RLIMIT_CORE, 0, 0) ||
                  limit(RLIMIT_STACK, STACK_SOFT_BYTES, STACK_HARD_BYTES) ||
                  limit(RLIMIT_MSGQUEUE, 0, 0) || limit(RLIMIT_RTPRIO, 0, 0) ||
                  /* The second between the two: SIGXCPU can be caught, SIGKILL cannot. */
                  (l->cpu_seconds && limit(RLIMIT_CPU, l->cpu_seconds, l->cpu_seconds + 1));
    if (failed)
        return fail_errno(err, setup_code, NULL, "The resource limits cannot be set");
    return 0;
}

int payload_drop_privileges(kgrade_error *err)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return fail_errno(err, setup_code, NULL, "no_new_privs cannot be set");
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    /* Both need CAP_SETPCAP, which an unprivileged process has not; it has nothing to drop either.
     */
    for (unsigned long c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++)
        prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
    prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                 SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED);
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};
    if (syscall(SYS_capset, &header, none))
        return fail_errno(err, setup_code, NULL, "Capabilities cannot be dropped");
    return 0;
}

int payload_exec(const struct jail_spec *spec, const struct filter *filter, kgrade_error *err)
{
    umask(022);
    /* All zero is the kernel's own structure for the default; the C library's function would refuse
     * its own two signals, which posix_spawn has made ignored. */
    static const unsigned char normal[64];
    for (int s = 1; s < NSIG; s++)
        syscall(SYS_rt_sigaction, s, normal, NULL, 8); /* refuses SIGKILL and SIGSTOP: no matter */
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (filter_load(filter))
        return fail_errno(err, setup_code, "The kernel needs CONFIG_SECCOMP_FILTER.",
                          "The system-call filter cannot be loaded");
    /* execve takes pointers to mutable strings but does not change them. */
    execve(spec->argv[0], (char *const *)(uintptr_t)spec->argv,
           (char *const *)(uintptr_t)spec->env);
    const char *hint =
        errno == ENOENT   ? "The program, or the interpreter or loader it names, is not "
                            "bound into the jail."
        : errno == EACCES ? "The program or a folder on its path is not executable for "
                            "the jail's user."
                          : NULL;
    return fail_errno(err, "jail_exec_failed", hint, "%s cannot be executed in the jail",
                      spec->argv[0]);
}
