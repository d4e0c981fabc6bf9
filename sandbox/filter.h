/*
 * System-call filters: one BPF program per policy, made of the table in calls.c, compiled once by
 * the spawner and loaded raw by each jail, so that nothing is allocated between fork and exec.
 */
#ifndef KGRADE_SANDBOX_FILTER_H
#define KGRADE_SANDBOX_FILTER_H

#include <linux/filter.h>

#include "sandbox.h"

struct filter {
    struct sock_filter *code; /* owned */
    unsigned short length;
};

/* Compiles the filter of a policy.  Error: `sandbox_unavailable`. */
int filter_compile(enum jail_policy policy, struct filter *ret, kgrade_error *err);

void filter_free(struct filter *filter);

/* Puts the calling process under the filter for good; no_new_privs must be set.  -1 with errno. */
int filter_load(const struct filter *filter);

#endif
