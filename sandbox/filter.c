/*
 * Everything is allowed but what the tables name.  Blocked calls answer EPERM, so that a program
 * that can do without goes on; what no honest program does (foreign ABIs) kills.
 *
 * Comparisons are either masked to 32 bits or fail closed: where the kernel reads only the low half
 * of an argument, a rule "deny unless equal" also denies every value with a high half.
 */
#define _GNU_SOURCE
#include "filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fail.h"

enum {
    ON_BUILD = 1 << JAIL_BUILD,
    ON_RECORD = 1 << JAIL_RECORD,
    ON_REPLAY = 1 << JAIL_REPLAY,
    ON_JUDGE = 1 << JAIL_JUDGE,
    ON_ALL = ON_BUILD | ON_RECORD | ON_REPLAY | ON_JUDGE,
};

struct denied_call {
    const char *name;
    int number; /* for libraries that do not know the name; the same on all architectures */
};

struct group {
    const char *reason;
    unsigned policies;
    int error;
    struct denied_call calls[20]; /* ends with a NULL name */
};

static const struct group groups[] = {
    {"clone3 hides its flags behind a pointer; with ENOSYS the C library uses clone, which is "
     "checked",
     ON_ALL,
     ENOSYS,
     {{"clone3", 435}}},
    {"namespaces: a new user namespace gives all capabilities in it and much kernel surface",
     ON_ALL,
     EPERM,
     {{"unshare", -1}, {"setns", -1}}},
    {"mounts: the private root stays as it was built",
     ON_ALL,
     EPERM,
     {{"mount", -1},
      {"umount2", -1},
      {"pivot_root", -1},
      {"chroot", -1},
      {"move_mount", 429},
      {"open_tree", 428},
      {"fsopen", 430},
      {"fsconfig", 431},
      {"fsmount", 432},
      {"fspick", 433},
      {"mount_setattr", 442},
      {"open_tree_attr", 467}}},
    {"other processes' memory and descriptors",
     ON_ALL,
     EPERM,
     {{"ptrace", -1},
      {"process_vm_readv", -1},
      {"process_vm_writev", -1},
      {"pidfd_getfd", 438},
      {"process_madvise", 440},
      {"process_mrelease", 448},
      {"kcmp", -1}}},
    {"kernel subsystems with a history of holes and no use here",
     ON_ALL,
     EPERM,
     {{"userfaultfd", -1},
      {"io_uring_setup", 425},
      {"io_uring_enter", 426},
      {"io_uring_register", 427},
      {"bpf", -1},
      {"perf_event_open", -1},
      {"fanotify_init", -1},
      {"lookup_dcookie", -1},
      {"vmsplice", -1},
      {"memfd_secret", 447}}},
    {"key rings are not namespaced and outlive the jail",
     ON_ALL,
     EPERM,
     {{"add_key", -1}, {"request_key", -1}, {"keyctl", -1}}},
    {"opening files by handle walks around the private root",
     ON_ALL,
     EPERM,
     {{"name_to_handle_at", -1}, {"open_by_handle_at", -1}}},
    {"the machine: kernel, modules, clocks, swap, quotas, names, ports",
     ON_ALL,
     EPERM,
     {{"kexec_load", -1},
      {"kexec_file_load", -1},
      {"init_module", -1},
      {"finit_module", -1},
      {"delete_module", -1},
      {"reboot", -1},
      {"swapon", -1},
      {"swapoff", -1},
      {"acct", -1},
      {"quotactl", -1},
      {"quotactl_fd", 443},
      {"syslog", -1},
      {"vhangup", -1},
      {"iopl", -1},
      {"ioperm", -1}}},
    {"clocks and names of the machine",
     ON_ALL,
     EPERM,
     {{"settimeofday", -1},
      {"clock_settime", -1},
      {"clock_adjtime", -1},
      {"adjtimex", -1},
      {"stime", -1},
      {"sethostname", -1},
      {"setdomainname", -1}}},
    {"our own code has no use for sockets", ON_JUDGE, EPERM, {{"socket", -1}, {"socketpair", -1}}},
};

static int deny(scmp_filter_ctx ctx, const struct group *g, const struct denied_call *c)
{
    int number = seccomp_syscall_resolve_name(c->name);
    if (number < 0)
        number = c->number;
    if (number < 0)
        return 0; /* this architecture has no such call */
    int r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO((uint32_t)g->error), number, 0);
    return r == -EDOM || r == -EFAULT ? 0 : r;
}

static int deny_tables(scmp_filter_ctx ctx, enum jail_policy policy)
{
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const struct group *g = &groups[i];
        if (!(g->policies & 1u << policy))
            continue;
        for (const struct denied_call *c = g->calls; c->name; c++) {
            int r = deny(ctx, g, c);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static int deny_by_argument(scmp_filter_ctx ctx, enum jail_policy policy)
{
    /* clone with a namespace flag; s390 and cris swap the arguments, and are not supported. */
    static const unsigned namespaces[] = {CLONE_NEWNS,  CLONE_NEWUSER, CLONE_NEWPID,   CLONE_NEWNET,
                                          CLONE_NEWIPC, CLONE_NEWUTS,  CLONE_NEWCGROUP};
    const uint32_t eperm = SCMP_ACT_ERRNO(EPERM);
    for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++) {
        int r = seccomp_rule_add(ctx, eperm, SCMP_SYS(clone), 1,
                                 SCMP_A0(SCMP_CMP_MASKED_EQ, namespaces[i], namespaces[i]));
        if (r < 0)
            return r;
    }
    /* Typing into a terminal that is shared with the operator. */
    static const unsigned ioctls[] = {TIOCSTI, TIOCLINUX};
    for (size_t i = 0; i < sizeof ioctls / sizeof *ioctls; i++) {
        int r = seccomp_rule_add(ctx, eperm, SCMP_SYS(ioctl), 1,
                                 SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, ioctls[i]));
        if (r < 0)
            return r;
    }
    /* personality: asking is fine, changing (no address randomisation, read implies exec) is not.
     */
    int r =
        seccomp_rule_add(ctx, eperm, SCMP_SYS(personality), 1, SCMP_A0(SCMP_CMP_NE, 0xffffffffu));
    if (r < 0)
        return r;
    /* Exotic socket families are kernel surface, and AF_VSOCK passes network namespaces. */
    if (policy != JAIL_JUDGE)
        r = seccomp_rule_add(ctx, eperm, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_NE, AF_UNIX));
    return r < 0 ? r : 0;
}

static int export(scmp_filter_ctx ctx, struct filter *ret)
{
    cleanup_close int fd = memfd_create("filter", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = seccomp_export_bpf(ctx, fd);
    if (r < 0)
        return r;
    struct stat st;
    if (fstat(fd, &st))
        return -errno;
    size_t size = (size_t)st.st_size;
    if (size == 0 || size % sizeof(struct sock_filter) ||
        size / sizeof(struct sock_filter) > BPF_MAXINSNS)
        return -E2BIG;
    cleanup_free struct sock_filter *code = malloc(size);
    if (!code)
        return -ENOMEM;
    if (pread(fd, code, size, 0) != (ssize_t)size)
        return -EIO;
    ret->length = (unsigned short)(size / sizeof *code);
    ret->code = steal_pointer(&code);
    return 0;
}

static int build(scmp_filter_ctx ctx, enum jail_policy policy, struct filter *ret)
{
    int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (r < 0)
        return r;
    seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a search tree where the library has it */
    r = deny_tables(ctx, policy);
    if (r < 0)
        return r;
    r = deny_by_argument(ctx, policy);
    if (r < 0)
        return r;
    return export(ctx, ret);
}

int filter_compile(enum jail_policy policy, struct filter *ret, kgrade_error *err)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
    int r = ctx ? build(ctx, policy, ret) : -ENOMEM;
    if (ctx)
        seccomp_release(ctx);
    if (r < 0)
        return fail(err, "sandbox_unavailable", "Check the installed libseccomp.",
                    "The system-call filter cannot be compiled: %s.", strerror(-r));
    return 0;
}

void filter_free(struct filter *filter)
{
    free(filter->code);
    filter->code = NULL;
    filter->length = 0;
}

int filter_load(const struct filter *filter)
{
    struct sock_fprog program = {.len = filter->length, .filter = filter->code};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
