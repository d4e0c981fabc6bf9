/*
 * The system calls that a jail may make: a table of groups, each with the reason why it is there,
 * and the rules for calls that are allowed or not by their arguments.  filter.c makes filters of
 * both.
 */
#ifndef KGRADE_SANDBOX_CALLS_H
#define KGRADE_SANDBOX_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox.h"

#define CALLS_BUILD (1u << JAIL_BUILD)
#define CALLS_RECORD (1u << JAIL_RECORD)
#define CALLS_REPLAY (1u << JAIL_REPLAY)
#define CALLS_JUDGE (1u << JAIL_JUDGE)
#define CALLS_DRIVER (CALLS_RECORD | CALLS_REPLAY) /* jails that hold a GPU driver or PoCL */
#define CALLS_ALL (CALLS_BUILD | CALLS_DRIVER | CALLS_JUDGE)
#define CALLS_NOT_JUDGE (CALLS_BUILD | CALLS_DRIVER)
#define CALLS_NOT_REPLAY (CALLS_BUILD | CALLS_RECORD | CALLS_JUDGE)

struct call_group {
    const char *reason;
    unsigned policies;        /* CALLS_* */
    const char *const *calls; /* names, ends with NULL; what an architecture lacks is skipped */
};

extern const struct call_group calls_allowed[], calls_forbidden[];
extern const size_t calls_n_allowed, calls_n_forbidden;

/* A call that is allowed by the low 32 bits of one argument and forbidden otherwise. */
struct call_rule {
    const char *reason;
    unsigned policies;
    const char *call;
    unsigned argument; /* from 0 */
    enum call_rule_kind {
        CALLS_ONLY,    /* allowed: the argument is one of the values */
        CALLS_EXCEPT,  /* allowed: the argument is none of the values */
        CALLS_WITHOUT, /* allowed: the argument has no bit of any of the values */
    } kind;
    const uint32_t *values;
    size_t n_values;
};

extern const struct call_rule calls_rules[];
extern const size_t calls_n_rules;

#endif
