/* Tries to attach to its parent and to process 1, and to read their memory and descriptors. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "../../honest.h"

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue);

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static int done;
    if (!done++) {
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
    add_honestly(a, b, c, n, queue);
}
