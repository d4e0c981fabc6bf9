/*
 * The table of calls.h as a BPF program: what it does not name is answered ENOSYS, what it forbids
 * EPERM.  Foreign ABIs (32-bit programs, x32) kill: no honest program uses them, and they number
 * the calls differently.
 *
 * Arguments are compared as 32 bits under a mask: the kernel reads the arguments that matter here
 * as int or unsigned, so a value in the high half must change nothing.  The rules of a call never
 * overlap with different answers, so their order does not matter.
 */
#define _GNU_SOURCE
#include "filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fail.h"
#include "calls.h"

#define ABSENT SCMP_ACT_ERRNO(ENOSYS)
#define FORBIDDEN SCMP_ACT_ERRNO(EPERM)

static int add_groups(scmp_filter_ctx ctx, enum jail_policy policy, uint32_t action,
                      const struct call_group *groups, size_t n_groups)
{
    for (size_t i = 0; i < n_groups; i++) {
        if (!(groups[i].policies & 1u << policy))
            continue;
        for (const char *const *name = groups[i].calls; *name; name++) {
            int number = seccomp_syscall_resolve_name(*name);
            if (number < 0)
                continue; /* this architecture has no such call, or the library does not know it */
            int r = seccomp_rule_add(ctx, action, number, 0);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* One comparison of a rule that is being added. */
struct comparison {
    scmp_filter_ctx ctx;
    int number;
    unsigned argument;
};

static int add_comparison(const struct comparison *c, uint32_t action, uint32_t mask,
                          uint32_t value)
{
    return seccomp_rule_add(c->ctx, action, c->number, 1,
                            SCMP_CMP(c->argument, SCMP_CMP_MASKED_EQ, mask, value));
}

/* All arguments but the listed values, as comparisons: walks the tree of prefixes, from the highest
 * bit down, and stops where none of the values goes on. */
static int add_others(const struct comparison *c, uint32_t action, const struct call_rule *rule,
                      uint32_t mask, uint32_t prefix)
{
    bool inside = false;
    for (size_t i = 0; i < rule->n_values && !inside; i++)
        inside = (rule->values[i] & mask) == prefix;
    if (!inside)
        return add_comparison(c, action, mask, prefix);
    if (mask == 0xffffffffu)
        return 0;
    uint32_t bit = mask ? (mask & -mask) >> 1 : 1u << 31;
    int r = add_others(c, action, rule, mask | bit, prefix);
    return r < 0 ? r : add_others(c, action, rule, mask | bit, prefix | bit);
}

static int add_rule(scmp_filter_ctx ctx, const struct call_rule *rule)
{
    const struct comparison c = {ctx, seccomp_syscall_resolve_name(rule->call), rule->argument};
    if (c.number < 0)
        return 0;
    bool bits = rule->kind == CALLS_WITHOUT;
    uint32_t listed = rule->kind == CALLS_ONLY ? SCMP_ACT_ALLOW : FORBIDDEN,
             others = rule->kind == CALLS_ONLY ? FORBIDDEN : SCMP_ACT_ALLOW, all = 0;
    for (size_t i = 0; i < rule->n_values; i++) {
        uint32_t value = rule->values[i];
        int r = add_comparison(&c, listed, bits ? value : 0xffffffffu, value);
        if (r < 0)
            return r;
        all |= value;
    }
    return bits ? add_comparison(&c, others, all, 0) : add_others(&c, others, rule, 0, 0);
}

static int add_all(scmp_filter_ctx ctx, enum jail_policy policy)
{
    int r = add_groups(ctx, policy, SCMP_ACT_ALLOW, calls_allowed, calls_n_allowed);
    if (r < 0)
        return r;
    r = add_groups(ctx, policy, FORBIDDEN, calls_forbidden, calls_n_forbidden);
    for (size_t i = 0; i < calls_n_rules && r == 0; i++)
        if (calls_rules[i].policies & 1u << policy)
            r = add_rule(ctx, &calls_rules[i]);
    return r;
}

static int export(scmp_filter_ctx ctx, struct filter *ret)
{
    cleanup_close int fd = memfd_create("filter", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = seccomp_export_bpf(ctx, fd);
    if (r < 0)
        return r;
    struct stat st;
    if (fstat(fd, &st))
        return -errno;
    size_t size = (size_t)st.st_size;
    if (size == 0 || size % sizeof(struct sock_filter) ||
        size / sizeof(struct sock_filter) > BPF_MAXINSNS)
        return -E2BIG;
    cleanup_free struct sock_filter *code = malloc(size);
    if (!code)
        return -ENOMEM;
    if (pread(fd, code, size, 0) != (ssize_t)size)
        return -EIO;
    ret->length = (unsigned short)(size / sizeof *code);
    ret->code = steal_pointer(&code);
    return 0;
}

static int build(scmp_filter_ctx ctx, enum jail_policy policy, struct filter *ret)
{
    int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (r < 0)
        return r;
    seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a search tree where the library has it */
    r = add_all(ctx, policy);
    if (r < 0)
        return r;
    return export(ctx, ret);
}

int filter_compile(enum jail_policy policy, struct filter *ret, kgrade_error *err)
{
    scmp_filter_ctx ctx = seccomp_init(ABSENT);
    int r = ctx ? build(ctx, policy, ret) : -ENOMEM;
    if (ctx)
        seccomp_release(ctx);
    if (r < 0)
        return fail(err, "sandbox_unavailable", "Check the installed libseccomp.",
                    "The system-call filter cannot be compiled: %s.", strerror(-r));
    return 0;
}

void filter_free(struct filter *filter)
{
    free(filter->code);
    filter->code = NULL;
    filter->length = 0;
}

int filter_load(const struct filter *filter)
{
    struct sock_fprog program = {.len = filter->length, .filter = filter->code};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
