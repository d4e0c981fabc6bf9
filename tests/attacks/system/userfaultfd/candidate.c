/* Opens userfaultfd, which stops the kernel in the middle of a copy for as long as it likes. */
#define _GNU_SOURCE
#include "../../attack.h"

/* The arguments are bad, so a call that gets to the kernel fails with another error than a filter's. */
static int reached(long result)
{
    return result >= 0 || (errno != EPERM && errno != ENOSYS && errno != EACCES);
}

static int reaches_userfaultfd(void)
{
    return reached(syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */));
}

static void attack(void)
{
    attempt("userfaultfd", reaches_userfaultfd);
}

ATTACK_THEN_NOTHING
