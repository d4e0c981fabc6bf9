/*
 * How to read the table: a call that no group and no rule of a policy names is answered ENOSYS, as
 * by a kernel that does not have it.  Programs and libraries know what to do without a call that is
 * absent, and glibc falls back on that answer alone (clone3 to clone, faccessat2 to faccessat,
 * copy_file_range to read and write).  clone3 is absent on purpose: its flags lie behind a pointer,
 * those of clone can be checked.
 *
 * EPERM is for what a program should see as forbidden: the groups of calls_forbidden, and arguments
 * that the rules exclude.  The groups would be refused without being named, too; the names are
 * there for the answer, and so that nobody admits them without reading why not.
 *
 * Which calls a policy needs was observed with strace: gcc, clang, nvcc and all that they start;
 * PoCL with its linker; the CUDA driver with cuBLAS; PyTorch with Triton, which runs gcc and ptxas;
 * the workers.  To that come the older and newer forms of the same calls, which other versions of
 * the C library use.
 */
#define _GNU_SOURCE
#include "calls.h"

#include <asm/termbits.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

const struct call_group calls_allowed[] = {
    /* What every program does. */
    {"the dynamic loader and the C library start a program, and end it", CALLS_ALL,
     NAMES("execve", "arch_prctl", "set_tid_address", "set_robust_list", "rseq", "exit",
           "exit_group")},
    {"memory of the program itself; mprotect and executable mappings cannot be refused, since PoCL "
     "and GPU drivers make code at run time",
     CALLS_ALL, NAMES("brk", "mmap", "munmap", "mprotect", "mremap", "madvise")},
    {"opening files: the private root decides which there are", CALLS_ALL,
     NAMES("open", "openat", "stat", "lstat", "fstat", "newfstatat", "statx", "access", "faccessat",
           "faccessat2", "readlink", "readlinkat")},
    {"reading and writing what is open", CALLS_ALL,
     NAMES("read", "readv", "pread64", "write", "writev", "lseek", "close", "fcntl")},
    {"threads wait for each other; the loader and exit handlers take locks without any threads",
     CALLS_ALL, NAMES("futex", "sched_yield")},
    {"clocks, where the kernel's page for them cannot be used", CALLS_ALL,
     NAMES("clock_gettime", "clock_getres", "gettimeofday", "time", "nanosleep", "clock_nanosleep",
           "times", "getrusage")},
    {"signals to the program itself: abort() and handlers; restart_syscall continues a call that a "
     "stop has interrupted",
     CALLS_ALL,
     NAMES("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "tgkill",
           "restart_syscall")},
    {"questions about the program and the machine, answered by numbers", CALLS_ALL,
     NAMES("getpid", "gettid", "getppid", "getuid", "geteuid", "getgid", "getegid", "uname",
           "sysinfo", "getcpu", "getrlimit", "sched_getaffinity", "getrandom")},

    /* Messages with the server, over the socket that a worker was given. */
    {"a worker receives requests, and sends answers and memory files", CALLS_DRIVER | CALLS_JUDGE,
     NAMES("sendto", "sendmsg", "recvfrom", "recvmsg")},
    {"waiting for something to read", CALLS_ALL, NAMES("poll", "ppoll")},

    /* Compilers, PoCL and drivers. */
    {"compilers and PoCL start other programs and wait for them; clone is below, with its flags",
     CALLS_NOT_JUDGE, NAMES("fork", "vfork", "wait4", "waitid")},
    {"pipes between them, and placing descriptors for them", CALLS_NOT_JUDGE,
     NAMES("pipe", "pipe2", "dup", "dup2", "dup3", "close_range", "select", "pselect6")},
    {"shells and build tools signal, wait and work in groups; the PID namespace confines them",
     CALLS_NOT_JUDGE,
     NAMES("kill", "tkill", "rt_sigsuspend", "rt_sigpending", "pause", "alarm", "getpgrp",
           "getpgid", "setpgid", "getsid", "setsid")},
    {"folders, as found by search paths and caches", CALLS_NOT_JUDGE,
     NAMES("getdents", "getdents64", "getcwd", "chdir", "fchdir", "statfs", "fstatfs")},
    {"products, temporary files and caches", CALLS_NOT_JUDGE,
     NAMES("creat", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat",
           "renameat2", "chmod", "fchmod", "fchmodat", "umask", "pwrite64", "preadv", "pwritev",
           "truncate", "ftruncate", "fallocate", "fadvise64", "flock", "fsync", "fdatasync",
           "utime", "utimes", "futimesat", "utimensat")},
    {"thread priorities: pthread attributes ask for their range and the present ones",
     CALLS_NOT_JUDGE,
     NAMES("sched_get_priority_max", "sched_get_priority_min", "sched_getscheduler",
           "sched_getparam")},
    {"limits of the program itself; the hard ones only fall", CALLS_NOT_JUDGE, NAMES("setrlimit")},
    {"make and shells become the user that they are already, and give up if they may not; without "
     "capabilities there is no other",
     CALLS_BUILD | CALLS_RECORD,
     NAMES("setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "getresuid",
           "getresgid", "getgroups")},
    {"ls, cp and Python's shutil read attributes, and give up where the call is absent",
     CALLS_BUILD | CALLS_RECORD,
     NAMES("getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr")},

    /* Drivers, and the candidate's host code. */
    {"drivers and PoCL place threads and memory near the device", CALLS_DRIVER,
     NAMES("sched_setaffinity", "sched_setscheduler", "sched_setparam", "getpriority", "mbind",
           "get_mempolicy", "set_mempolicy")},
    {"drivers keep host memory in place and look at what is resident", CALLS_DRIVER,
     NAMES("mlock", "mlock2", "munlock", "mlockall", "munlockall", "msync", "mincore")},
    {"memory files: the arena, and driver allocations that are handed on as descriptors",
     CALLS_DRIVER, NAMES("memfd_create")},
    {"driver and runtime threads wait for events", CALLS_DRIVER,
     NAMES("eventfd", "eventfd2", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait",
           "epoll_pwait", "epoll_pwait2")},
    {"the CUDA driver makes, names and asks for Unix sockets; socket itself is below, with its "
     "family",
     CALLS_DRIVER,
     NAMES("bind", "listen", "accept", "accept4", "connect", "getsockname", "getpeername",
           "getsockopt", "setsockopt", "shutdown")},
    {"the C library makes named semaphores by a link in /dev/shm, for ROCm and for Python's "
     "multiprocessing; links do not leave a mount, and these jails write to none of the host's",
     CALLS_DRIVER, NAMES("link", "linkat")},
    {"the CUDA driver makes symbolic links in its cache and in /tmp", CALLS_DRIVER,
     NAMES("symlink", "symlinkat")},

    /* Python: PyTorch, Triton and the compilers that they run. */
    {"Python's standard library, as imported by PyTorch and Triton", CALLS_RECORD,
     NAMES("capget", "getitimer", "setitimer", "preadv2", "pwritev2", "sendfile",
           "copy_file_range")},
    {"nvcc that compiles for host and device side by side has a thread that waits for signals; so "
     "has Python's signal module",
     CALLS_BUILD | CALLS_RECORD, NAMES("rt_sigtimedwait")},
};
const size_t calls_n_allowed = COUNT(calls_allowed);

const struct call_group calls_forbidden[] = {
    {"namespaces: a new user namespace gives all capabilities in it and much kernel surface",
     CALLS_ALL, NAMES("unshare", "setns")},
    {"mounts: the private root stays as it was built", CALLS_ALL,
     NAMES("mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen",
           "fsconfig", "fsmount", "fspick", "mount_setattr")},
    {"other processes' memory and descriptors", CALLS_ALL,
     NAMES("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "process_madvise",
           "process_mrelease", "kcmp")},
    {"kernel subsystems with a history of holes and no use here", CALLS_ALL,
     NAMES("userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "bpf",
           "perf_event_open", "fanotify_init", "lookup_dcookie", "splice", "tee", "vmsplice",
           "memfd_secret")},
    {"a filter of one's own answers one's own calls only; no use but in replays, below",
     CALLS_NOT_REPLAY, NAMES("seccomp")},
    {"key rings are not namespaced and outlive the jail", CALLS_ALL,
     NAMES("add_key", "request_key", "keyctl")},
    {"queues and segments that outlive their maker; the reduced level has no namespace for them",
     CALLS_ALL, NAMES("shmget", "shmat", "shmctl", "semget", "msgget", "mq_open", "mq_unlink")},
    {"opening files by handle walks around the private root", CALLS_ALL,
     NAMES("name_to_handle_at", "open_by_handle_at")},
    {"other users, capabilities, special files: the kernel, too, answers this without privileges",
     CALLS_ALL,
     NAMES("setfsuid", "setfsgid", "setgroups", "capset", "chown", "fchown", "lchown", "fchownat",
           "mknod", "mknodat")},
    {"the machine: kernel, modules, swap, quotas, log, ports", CALLS_ALL,
     NAMES("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
           "reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "vhangup",
           "iopl", "ioperm", "modify_ldt")},
    {"clocks and names of the machine", CALLS_ALL,
     NAMES("settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname",
           "setdomainname")},
};
const size_t calls_n_forbidden = COUNT(calls_forbidden);

#define VALUES(...) ((const uint32_t[]){__VA_ARGS__}), COUNT(((const uint32_t[]){__VA_ARGS__}))

const struct call_rule calls_rules[] = {
    /* CLONE_NEWTIME lies in the bits of the exit signal here and can be had from clone3 and unshare
     * only.  The first argument holds the flags everywhere but on s390 and cris. */
    {"threads and processes, but no new namespaces", CALLS_NOT_JUDGE, "clone", 0, CALLS_WITHOUT,
     VALUES(CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS,
            CLONE_NEWCGROUP)},
    {"other families are kernel surface, and AF_VSOCK passes network namespaces; the CUDA driver "
     "needs Unix sockets",
     CALLS_DRIVER, "socket", 0, CALLS_ONLY, VALUES(AF_UNIX)},
    {"as socket", CALLS_DRIVER, "socketpair", 0, CALLS_ONLY, VALUES(AF_UNIX)},
    {"terminals and plain files: what the C library and shells ask", CALLS_BUILD | CALLS_JUDGE,
     "ioctl", 1, CALLS_ONLY,
     VALUES(TCGETS, (uint32_t)TCGETS2, TIOCGWINSZ, TIOCGPGRP, FIONREAD, FIONBIO, FIOCLEX,
            FIONCLEX)},
    {"drivers multiplex everything through ioctl; but nothing types into a terminal that is shared "
     "with the operator, takes the console or loads a line discipline",
     CALLS_DRIVER, "ioctl", 1, CALLS_EXCEPT, VALUES(TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD)},
    {"names of threads and mappings, huge pages, timer slack, giving up privileges; all of the "
     "caller itself",
     CALLS_NOT_JUDGE, "prctl", 0, CALLS_ONLY,
     VALUES(PR_SET_NAME, PR_GET_NAME, PR_SET_VMA, PR_GET_THP_DISABLE, PR_SET_THP_DISABLE,
            PR_GET_TIMERSLACK, PR_SET_TIMERSLACK, PR_GET_PDEATHSIG, PR_SET_PDEATHSIG,
            PR_GET_DUMPABLE, PR_GET_NO_NEW_PRIVS, PR_SET_NO_NEW_PRIVS, PR_CAPBSET_READ)},
    {"the replayer of a CPU gives up more than its jail, before it runs device code", CALLS_REPLAY,
     "seccomp", 0, CALLS_ONLY, VALUES(SECCOMP_SET_MODE_FILTER)},
    {"asking is fine; changing (no address randomisation, read implies exec) is not", CALLS_ALL,
     "personality", 0, CALLS_ONLY, VALUES(0xffffffffu)},
    {"limits of the caller, not of another process of the same user: at the reduced level that may "
     "be the server",
     CALLS_ALL, "prlimit64", 0, CALLS_ONLY, VALUES(0)},
};
const size_t calls_n_rules = COUNT(calls_rules);
