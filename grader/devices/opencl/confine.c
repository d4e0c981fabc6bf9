#define _GNU_SOURCE
#include "confine.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../../sandbox/base/fail.h"

/* The jail's filter has settled what is no question of numbers (foreign ABIs, x32), and refuses what could do the same
 * from outside: ptrace, writing to other processes' memory, io_uring, userfaultfd, timers with signals. */
static const unsigned refused[] = {
    /* processes, threads, other programs in the place of this one */
    SYS_clone,
    SYS_clone3,
    SYS_execve,
    SYS_execveat,
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
#endif
    /* code that runs when a signal comes: by time, by a fault in the middle of our own code, by a request's arrival */
    SYS_rt_sigaction,
    SYS_setitimer,
    SYS_timer_create,
#ifdef SYS_alarm
    SYS_alarm,
#endif
    /* answers to our own calls */
    SYS_seccomp,
};
#define N_REFUSED (sizeof refused / sizeof *refused)

/* A signal of choice when a descriptor is ready: the same by other means. */
static const unsigned refused_fcntl[] = {F_SETSIG, F_SETOWN, F_SETOWN_EX};
#define N_FCNTL (sizeof refused_fcntl / sizeof *refused_fcntl)

/* LLVM tidies up when its process crashes, and puts handlers back for that, which would end as a forbidden call.  SIGFPE stays:
 * PoCL lets kernels survive a division by zero. */
static void crash_plainly(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS,  SIGILL,  SIGABRT, SIGTRAP,
                                  SIGQUIT, SIGXCPU, SIGXFSZ, SIGSYS};
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        signal(crashes[i], SIG_DFL);
}

int confine(kgrade_error *err)
{
    crash_plainly();
    struct sock_filter code[1 + 2 * N_REFUSED + 2 + 2 * N_FCNTL + 1];
    size_t n = 0;
    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < N_REFUSED; i++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    /* Commands of fcntl are 32 bits; where numbers are stored the low half first, that is the first half. */
    code[n++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 1 + 2 * N_FCNTL);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             offsetof(struct seccomp_data, args[1]));
    for (size_t i = 0; i < N_FCNTL; i++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused_fcntl[i], 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {(unsigned short)n, code};
    /* Positive: a thread that did not follow. */
    long result =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (result < 0)
        return fail_errno(err, "confine_failed", "Run `kgrade doctor`.",
                          "The replayer cannot be confined");
    return result ? fail(err, "confine_failed", "Run `kgrade doctor`.",
                         "A thread of the replayer could not be confined.")
                  : 0;
}
