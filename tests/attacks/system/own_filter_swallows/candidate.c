/* Installs a filter of its own that lets the recorder believe its answer was sent. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "../../attack.h"

static int install(struct sock_filter *code, unsigned short n)
{
    struct sock_fprog program = {n, code};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

static void attack(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendmsg, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    install(code, 4);
}

ATTACK_THEN_NOTHING
