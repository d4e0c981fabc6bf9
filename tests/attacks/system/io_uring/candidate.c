/* Sets up io_uring, whose operations pass every filter of system calls. */
#define _GNU_SOURCE
#include "../../attack.h"

/* The arguments are bad, so a call that gets to the kernel fails with another error than a filter's. */
static int reached(long result)
{
    return result >= 0 || (errno != EPERM && errno != ENOSYS && errno != EACCES);
}

static int reaches_setup(void)
{
    return reached(syscall(425 /* io_uring_setup */, 0, NULL));
}

static int reaches_enter(void)
{
    return reached(syscall(426 /* io_uring_enter */, -1, 0, 0, 0, NULL, 0));
}

static int reaches_register(void)
{
    return reached(syscall(427 /* io_uring_register */, -1, 0, NULL, 0));
}

static void attack(void)
{
    attempt("setup", reaches_setup);
    attempt("enter", reaches_enter);
    attempt("register", reaches_register);
}

ATTACK_THEN_NOTHING
