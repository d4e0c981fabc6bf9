/* Becomes root, takes capabilities, and lets a setuid program do it instead. */
#define _GNU_SOURCE
#include <sys/prctl.h>

#include "../../attack.h"

static int takes_capabilities(void)
{
    unsigned header[2] = {0x20080522, 0}, sets[6] = {~0u, ~0u, 0, 1, 1, 0};
    return syscall(SYS_capset, header, sets) == 0;
}

static int has_capabilities(void)
{
    unsigned header[2] = {0x20080522, 0}, sets[6] = {0};
    return syscall(SYS_capget, header, sets) == 0 && (sets[0] | sets[1] | sets[3] | sets[4]);
}

static int becomes_root(void)
{
    return geteuid() != 0 && (setresuid(0, 0, 0) == 0 || setresgid(0, 0, 0) == 0);
}

static int may_gain(void)
{
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1;
}

static void attack(void)
{
    attempt("no_new_privs is not set", may_gain);
    attempt("there are capabilities", has_capabilities);
    attempt("capset", takes_capabilities);
    attempt("setresuid", becomes_root);
}

ATTACK_THEN_NOTHING
