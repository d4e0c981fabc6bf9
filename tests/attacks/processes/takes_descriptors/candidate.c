/* Takes descriptors out of other processes with pidfd_getfd, and compares and advises their memory. */
#define _GNU_SOURCE
#include "../../attack.h"

static int takes(void)
{
    pid_t others[] = {1, getppid(), GRADER, getpid()};
    for (size_t i = 0; i < 4; i++) {
        int pidfd = (int)syscall(434 /* pidfd_open */, others[i], 0);
        for (int fd = 0; pidfd >= 0 && fd < 16; fd++)
            if (syscall(438 /* pidfd_getfd */, pidfd, fd, 0) >= 0)
                return 1;
        if (syscall(SYS_kcmp, others[i], getpid(), 0, 0, 0) >= 0)
            return 1;
    }
    return 0;
}

static void attack(void)
{
    attempt("pidfd_getfd", takes);
}

ATTACK_THEN_NOTHING
