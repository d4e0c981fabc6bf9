/* Installs a filter that traps the recorder's answer, and sends another one from the handler. */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "../../attack.h"

static int install(struct sock_filter *code, unsigned short n)
{
    struct sock_fprog program = {n, code};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

static void lie(int number)
{
    (void)number;
    forge("{\"ok\":true,\"cold_ns\":1,\"warm_ns\":[1],\"verdict\":\"accepted\",\"score\":1000}");
    _exit(0);
}

static void attack(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendmsg, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    signal(SIGSYS, lie);
    install(code, 4);
}

ATTACK_THEN_NOTHING
