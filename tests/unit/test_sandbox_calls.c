/*
 * The filters do what the table of calls says: every call number, and every argument that a rule
 * looks at, is tried under each filter in the kernel, without being carried out.  Below the filter
 * lies a second one that answers calls with a mark in their last argument by an errno of its own;
 * when both refuse, the kernel takes the answer of the filter that was loaded last.  So the errno
 * tells exactly what the filter decided, also for calls that end the process, wait for ever or
 * change the machine.
 *
 * What must not be in the table is for test_sandbox_filter.c to say.
 */
#define _GNU_SOURCE
#include "filter_help.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "sandbox/calls.h"

#define MARK 0x6b677264u /* in the sixth argument, which no rule looks at */
#define ALLOWED 3999     /* an errno that nobody else uses */
#define N_NUMBERS 1024   /* far beyond the newest call */

static const char *const policy_names[N_POLICIES] = {"build", "record", "replay", "judge"};
/* Whoever makes a list longer than this should have seen how long it is. */
static const size_t most_allowed[N_POLICIES] = {150, 200, 180, 80};

struct question {
    long number;
    unsigned argument; /* which one holds the value; the others are 0 */
    uint64_t value;
    int answer; /* errno; ALLOWED when the filter lets the call pass */
};

static int load_mark(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MARK, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ALLOWED),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct filter mark = {.code = code, .length = sizeof code / sizeof *code};
    return filter_load(&mark);
}

/* The kernel lets these pass all filters: uprobes enter through them.  From anywhere else than
 * their trampoline they end the process. */
static bool passes_filters(long number)
{
#ifdef __x86_64__
    return number == 335 || number == 336; /* uretprobe, uprobe */
#else
    (void)number;
    return false;
#endif
}

/* Answers all questions in one process under the policy's filter. */
static void ask(unsigned policy, struct question *questions, size_t n)
{
    int *answers =
        mmap(NULL, n * sizeof *answers, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(answers, MAP_FAILED);
    pid_t pid = fork();
    if (pid == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || load_mark() || filter_load(&filters[policy]))
            _exit(1);
        for (size_t i = 0; i < n; i++) {
            long x[5] = {0};
            x[questions[i].argument] = (long)questions[i].value;
            long r = syscall(questions[i].number, x[0], x[1], x[2], x[3], x[4], (long)MARK);
            answers[i] = r < 0 ? errno : 0;
        }
        syscall(SYS_exit_group, 0, 0, 0, 0, 0, 0); /* _exit() leaves the mark in its register */
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    for (size_t i = 0; i < n; i++)
        questions[i].answer = answers[i];
    munmap(answers, n * sizeof *answers);
}

static bool rule_allows(const struct call_rule *rule, uint32_t value)
{
    bool equal = false;
    uint32_t bits = 0;
    for (size_t i = 0; i < rule->n_values; i++) {
        equal = equal || value == rule->values[i];
        bits |= value & rule->values[i];
    }
    return rule->kind == CALLS_ONLY ? equal : rule->kind == CALLS_EXCEPT ? !equal : !bits;
}

static bool is_named(const struct call_group *groups, size_t n, unsigned policy, const char *name)
{
    for (size_t i = 0; i < n; i++)
        for (const char *const *call = groups[i].calls; *call; call++)
            if (groups[i].policies >> policy & 1 && !strcmp(*call, name))
                return true;
    return false;
}

/* What the filter must answer when all arguments are 0. */
static int answer_of(unsigned policy, const char *name)
{
    for (size_t i = 0; name && i < calls_n_rules; i++)
        if (calls_rules[i].policies >> policy & 1 && !strcmp(calls_rules[i].call, name))
            return rule_allows(&calls_rules[i], 0) ? ALLOWED : EPERM;
    if (name && is_named(calls_allowed, calls_n_allowed, policy, name))
        return ALLOWED;
    return name && is_named(calls_forbidden, calls_n_forbidden, policy, name) ? EPERM : ENOSYS;
}

static bool has_rule(unsigned policy, const char *name)
{
    for (size_t i = 0; i < calls_n_rules; i++)
        if (calls_rules[i].policies >> policy & 1 && !strcmp(calls_rules[i].call, name))
            return true;
    return false;
}

static void test_every_call_as_the_table_says(void **state)
{
    (void)state;
    size_t wrong = 0;
    for (unsigned p = 0; p < N_POLICIES; p++) {
        struct question questions[N_NUMBERS];
        for (int i = 0; i < N_NUMBERS; i++)
            questions[i] = (struct question){.number = passes_filters(i) ? N_NUMBERS : i};
        ask(p, questions, N_NUMBERS);
        size_t allowed = 0, by_argument = 0, known = 0;
        for (int i = 0; i < N_NUMBERS; i++) {
            char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, i);
            int expected = answer_of(p, name);
            bool ruled = name && has_rule(p, name);
            known += name != NULL;
            by_argument += ruled;
            allowed += !ruled && questions[i].answer == ALLOWED;
            if (questions[i].answer != expected) {
                print_message("%s: call %d (%s) was answered %d instead of %d\n", policy_names[p],
                              i, name ? name : "unknown", questions[i].answer, expected);
                wrong++;
            }
            free(name);
        }
        print_message("%s: %zu calls allowed and %zu by their arguments, of %zu\n", policy_names[p],
                      allowed, by_argument, known);
        assert_in_range(allowed, 30, most_allowed[p]);
    }
    assert_int_equal(wrong, 0);
}

/* Each value of the rule, what differs from it in one bit, and values from anywhere. */
static size_t questions_on(const struct call_rule *rule, struct question *ret, size_t max)
{
    static const uint64_t high_half = 1ull << 32;
    struct question q = {.number = seccomp_syscall_resolve_name(rule->call),
                         .argument = rule->argument};
    size_t n = 0;
    for (size_t i = 0; i < rule->n_values; i++)
        for (int bit = -1; bit < 32 && n + 2 <= max; bit++) {
            q.value = rule->values[i] ^ (bit < 0 ? 0 : 1u << bit);
            ret[n++] = q;
            q.value |= high_half;
            ret[n++] = q;
        }
    uint32_t random = 1;
    for (int i = 0; i < 500 && n < max; i++) {
        random = random * 1664525u + 1013904223u;
        q.value = i % 2 ? random : random >> 16;
        ret[n++] = q;
    }
    return n;
}

static void test_every_argument_as_the_rules_say(void **state)
{
    (void)state;
    size_t wrong = 0, total = 0;
    for (size_t r = 0; r < calls_n_rules; r++) {
        const struct call_rule *rule = &calls_rules[r];
        for (unsigned p = 0; p < N_POLICIES; p++) {
            if (!(rule->policies >> p & 1))
                continue;
            struct question questions[2048];
            size_t n = questions_on(rule, questions, sizeof questions / sizeof *questions);
            ask(p, questions, n);
            size_t passed = 0;
            for (size_t i = 0; i < n; i++) {
                bool allows = rule_allows(rule, (uint32_t)questions[i].value);
                passed += allows;
                if (questions[i].answer != (allows ? ALLOWED : EPERM)) {
                    print_message("%s: %s with argument %u 0x%llx was answered %d\n",
                                  policy_names[p], rule->call, rule->argument,
                                  (unsigned long long)questions[i].value, questions[i].answer);
                    wrong++;
                }
            }
            assert_in_range(passed, 1, n - 1);
            total += n;
        }
    }
    print_message("%zu arguments\n", total);
    assert_int_equal(wrong, 0);
}

static size_t times_named(unsigned policy, const char *name)
{
    size_t n = 0;
    for (size_t r = 0; r < calls_n_rules; r++)
        n += calls_rules[r].policies >> policy & 1 && !strcmp(calls_rules[r].call, name);
    for (size_t g = 0; g < calls_n_allowed + calls_n_forbidden; g++) {
        const struct call_group *group =
            g < calls_n_allowed ? &calls_allowed[g] : &calls_forbidden[g - calls_n_allowed];
        for (const char *const *call = group->calls; *call; call++)
            n += group->policies >> policy & 1 && !strcmp(*call, name);
    }
    return n;
}

/* A misspelt name would be skipped as a call that this architecture lacks, and one that is named
 * twice could be allowed here and forbidden there. */
static void test_names_are_known_and_unique(void **state)
{
    (void)state;
    for (size_t g = 0; g < calls_n_allowed + calls_n_forbidden; g++) {
        const struct call_group *group =
            g < calls_n_allowed ? &calls_allowed[g] : &calls_forbidden[g - calls_n_allowed];
        assert_true(strlen(group->reason) > 0);
        assert_true(group->policies && group->policies <= CALLS_ALL);
        for (const char *const *call = group->calls; *call; call++) {
            if (seccomp_syscall_resolve_name(*call) == __NR_SCMP_ERROR)
                fail_msg("%s is not the name of a call", *call);
            for (unsigned p = 0; p < N_POLICIES; p++)
                if (times_named(p, *call) > 1)
                    fail_msg("%s: %s is named more than once", policy_names[p], *call);
        }
    }
    for (size_t r = 0; r < calls_n_rules; r++)
        for (unsigned p = 0; p < N_POLICIES; p++)
            if (times_named(p, calls_rules[r].call) > 1)
                fail_msg("%s: %s is named more than once", policy_names[p], calls_rules[r].call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_call_as_the_table_says),
        cmocka_unit_test(test_every_argument_as_the_rules_say),
        cmocka_unit_test(test_names_are_known_and_unique),
    };
    return cmocka_run_group_tests(tests, compile_all, free_all);
}
