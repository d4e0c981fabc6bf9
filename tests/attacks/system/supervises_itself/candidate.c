/* Asks for a descriptor on which a process outside the filter could answer its system calls. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "../../attack.h"

static int supervises(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, code};
    long listener =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    /* Only who answers for others gains by it: a call that our own filter refuses must stay refused. */
    return listener >= 0 && syscall(SYS_ptrace, 0, 0, 0, 0) == 0;
}

static void attack(void)
{
    attempt("a call that is refused went through", supervises);
}

ATTACK_THEN_NOTHING
