/* Makes new namespaces with clone, whose flags a filter can see, and with clone3, whose flags it cannot. */
#define _GNU_SOURCE
#include <sched.h>

#include "../../attack.h"

static int reaped(long child)
{
    if (child == 0)
        _exit(0);
    if (child > 0)
        waitpid((pid_t)child, NULL, 0);
    return child > 0;
}

static int by_clone(void)
{
    return reaped(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
}

static int by_clone3(void)
{
    unsigned long long args[11] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
    return reaped(syscall(435 /* clone3 */, args, 88));
}

static void attack(void)
{
    attempt("clone", by_clone);
    attempt("clone3", by_clone3);
}

ATTACK_THEN_NOTHING
