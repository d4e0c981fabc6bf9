/* Puts a key into the key rings, which no namespace separates and which outlive the process. */
#define _GNU_SOURCE
#include "../../attack.h"

/* The arguments are bad, so a call that gets to the kernel fails with another error than a filter's. */
static int reached(long result)
{
    return result >= 0 || (errno != EPERM && errno != ENOSYS && errno != EACCES);
}

static int reaches_keyctl(void)
{
    return reached(syscall(SYS_keyctl, 0, -3, 0));
}

static int reaches_add_key(void)
{
    return reached(syscall(SYS_add_key, "user", PLANTED, "x", 1, -5 /* session */));
}

static int reaches_request_key(void)
{
    return reached(syscall(SYS_request_key, "user", PLANTED, NULL, 0));
}

static void attack(void)
{
    attempt("keyctl", reaches_keyctl);
    attempt("add_key", reaches_add_key);
    attempt("request_key", reaches_request_key);
}

ATTACK_THEN_NOTHING
