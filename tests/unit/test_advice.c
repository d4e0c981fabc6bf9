/* The sentence about host against device time. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "grader/grade/advice.h"
#include "sandbox/base/cleanup.h"

#define CASES 3

static struct param params[] = {{.kind = PARAM_IN, .name = "x"},
                                {.kind = PARAM_DIM, .name = "rows"},
                                {.kind = PARAM_DIM, .name = "columns"}};

struct scene {
    struct task task;
    struct task_case cases[CASES];
    struct case_result results[CASES];
};

/* Cases of 1000, 2000, 3000 rows that take 10, 20, 30 us on the device, and `host_us` on the host. */
static void set_scene(struct scene *s, const double host_us[CASES])
{
    memset(s, 0, sizeof *s);
    s->task.n_params = 3;
    s->task.n_dims = 2;
    memcpy(s->task.params, params, sizeof params);
    for (int i = 0; i < CASES; i++) {
        s->cases[i].kind = CASE_BENCHMARK;
        s->cases[i].dims[0] = 1000 * (i + 1);
        s->cases[i].dims[1] = 64;
        s->results[i] =
            (struct case_result){.task_case = &s->cases[i], .recorded = true, .sampled = true};
        s->results[i].overhead.warm_ns = host_us[i] * 1e3;
        s->results[i].sampling.candidate.time.median = 10e3 * (i + 1);
    }
}

static void assert_advice(const struct scene *s, bool graph_hides, const char *expected)
{
    cleanup_free char *text = advice_write(s->results, CASES, &s->task, graph_hides);
    assert_string_equal(text ? text : "(none)", expected);
}

static void test_in_every_case(void **state)
{
    (void)state;
    struct scene s;
    set_scene(&s, (const double[]){50, 50, 50});
    assert_advice(&s, true,
                  "In eager mode this kernel is launch-bound in every benchmark case: at rows=3000 "
                  "columns=64 a call costs the host 50 µs and the device 30 µs; under graph replay "
                  "it is not.");
}

static void test_in_none(void **state)
{
    (void)state;
    struct scene s;
    set_scene(&s, (const double[]){5, 5, 5});
    assert_advice(
        &s, true,
        "In eager mode this kernel is not launch-bound in any benchmark case: at rows=1000 "
        "columns=64 a call costs the host 5 µs and the device 10 µs.");
}

static void test_up_to_some_rows(void **state)
{
    (void)state;
    struct scene s;
    set_scene(&s, (const double[]){25, 25, 25});
    assert_advice(
        &s, false,
        "In eager mode this kernel is launch-bound up to rows=2000 and not from rows=3000: "
        "at rows=2000 columns=64 a call costs the host 25 µs and the device 20 µs.");
}

static void test_no_order(void **state)
{
    (void)state;
    struct scene s;
    set_scene(&s, (const double[]){5, 25, 5});
    assert_advice(
        &s, false,
        "In eager mode this kernel is launch-bound in 1 of 3 benchmark cases: at rows=2000 "
        "columns=64 a call costs the host 25 µs and the device 20 µs.");
    /* Where two dims differ, neither is a limit. */
    set_scene(&s, (const double[]){25, 25, 25});
    s.cases[2].dims[1] = 65;
    assert_advice(
        &s, false,
        "In eager mode this kernel is launch-bound in 2 of 3 benchmark cases: at rows=2000 "
        "columns=64 a call costs the host 25 µs and the device 20 µs.");
}

static void test_nothing_to_say(void **state)
{
    (void)state;
    struct scene s;
    set_scene(&s, (const double[]){0, 0, 0});
    assert_advice(&s, true, "(none)");
    set_scene(&s, (const double[]){5, 5, 5});
    for (int i = 0; i < CASES; i++)
        s.results[i].sampled = false;
    assert_advice(&s, true, "(none)");
    for (int i = 0; i < CASES; i++) {
        s.results[i].sampled = true;
        s.cases[i].kind = CASE_CORRECTNESS;
    }
    assert_advice(&s, true, "(none)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_every_case),   cmocka_unit_test(test_in_none),
        cmocka_unit_test(test_up_to_some_rows), cmocka_unit_test(test_no_order),
        cmocka_unit_test(test_nothing_to_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
