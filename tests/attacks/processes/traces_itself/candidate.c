/* Lets a child trace a grandchild and hold it in a stop, so that neither seems to end. */
#define _GNU_SOURCE
#include <sys/ptrace.h>

#include "../../attack.h"

static int traces(void)
{
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0))
            _exit(1);
        kill(getpid(), SIGSTOP);
        _exit(0);
    }
    int status = 0;
    return waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status);
}

static void attack(void)
{
    attempt("ptrace", traces);
}

ATTACK_THEN_NOTHING
