/* Tries to attach to its parent and to process 1, and to read their memory and descriptors. */
#define _GNU_SOURCE
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "../../attack.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue);

static void attack(void)
{
    pid_t others[] = {getppid(), 1};
    for (int i = 0; i < 2; i++) {
        char path[64], byte;
        pid_t other = others[i];
        if (other <= 0 || other == getpid())
            continue;
        struct iovec to = {&byte, 1}, from = {(void *)&vector_add, 1};
        if (ptrace(PTRACE_SEIZE, other, 0, 0) == 0 || ptrace(PTRACE_ATTACH, other, 0, 0) == 0)
            breach("ptrace");
        if (process_vm_readv(other, &to, 1, &from, 1, 0) > 0)
            breach("process_vm_readv");
        snprintf(path, sizeof path, "/proc/%d/mem", other);
        if (open(path, O_RDWR) >= 0)
            breach(path);
        snprintf(path, sizeof path, "/proc/%d/environ", other);
        if (open(path, O_RDONLY) >= 0)
            breach(path);
        int pidfd = (int)syscall(SYS_pidfd_open, other, 0);
        if (pidfd >= 0 && syscall(SYS_pidfd_getfd, pidfd, 3, 0) >= 0)
            breach("pidfd_getfd");
    }
}

ATTACK_THEN_NOTHING
