/* The rules of leaderboards.  Golden values were made with the boards' own code where a comment says so. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "grader/regrade/rules.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static void assert_near(double got, double expected)
{
    double slack = 1e-9 * fmax(1, fabs(expected));
    if (!(fabs(got - expected) <= slack))
        fail_msg("%.12g is not %.12g", got, expected);
}

static struct rule_case timed(double seconds, double speedup)
{
    return (struct rule_case){{seconds, seconds * 0.99, seconds * 1.01},
                              {speedup, speedup * 0.98, speedup * 1.03}};
}

static void a_name_finds_its_rule(void **state)
{
    (void)state;
    static const char *const names[] = {"last",  "mean",       "geom",           "fast_p",
                                        "arena", "arena_pr77", "speedup_factor", "score"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        const struct rule *rule = rule_find(names[i]);
        assert_non_null(rule);
        assert_string_equal(rule->name, names[i]);
        assert_int_equal(rule->lower_is_better, rule->unit == RULE_SECONDS);
    }
    assert_null(rule_find("best"));
    assert_null(rule_find(""));
    assert_null(rule_find(NULL));
}

static void gpu_mode_makes_seconds_of_all_cases_or_the_last(void **state)
{
    (void)state;
    const struct rule_case cases[] = {timed(1e-6, 9), timed(8e-6, 9), timed(27e-6, 9)};
    struct rule_span last = rule_apply(rule_find("last"), RULE_RIGHT, cases, 3);
    assert_near(last.value * 1e6, 27);
    assert_near(last.low * 1e6, 27 * 0.99);
    assert_near(last.high * 1e6, 27 * 1.01);
    struct rule_span mean = rule_apply(rule_find("mean"), RULE_RIGHT, cases, 3);
    assert_near(mean.value * 1e6, 12);
    assert_near(mean.high * 1e6, 12 * 1.01);
    struct rule_span geom = rule_apply(rule_find("geom"), RULE_RIGHT, cases, 3);
    assert_near(geom.value * 1e6, 6);
    assert_near(geom.low * 1e6, 6 * 0.99);
}

static void speedups_are_averaged_as_the_board_does(void **state)
{
    (void)state;
    const struct rule_case cases[] = {timed(1, 0.5), timed(1, 2)};
    struct rule_span ours = rule_apply(rule_find("score"), RULE_RIGHT, cases, 2);
    assert_near(ours.value, 1);
    assert_near(ours.low, 0.98);
    assert_near(ours.high, 1.03);
    assert_near(rule_apply(rule_find("speedup_factor"), RULE_RIGHT, cases, 2).value, 1.25);
    assert_near(rule_apply(rule_find("fast_p"), RULE_RIGHT, cases, 2).value, 1);
    struct rule_span arena = rule_apply(rule_find("arena"), RULE_RIGHT, cases, 2);
    assert_near(arena.value, 245);
    assert_near(arena.low, 120 + 125 * 0.98);
    assert_near(rule_apply(rule_find("arena_pr77"), RULE_RIGHT, cases, 2).value, 245);
}

static void what_is_not_right_has_no_figure_but_points(void **state)
{
    (void)state;
    const struct rule_case one = timed(1, 2);
    struct rule_span span = rule_apply(rule_find("geom"), RULE_WRONG, &one, 1);
    assert_false(rule_is_some(&span));
    span = rule_apply(rule_find("score"), RULE_NOT_BUILT, &one, 1);
    assert_false(rule_is_some(&span));
    assert_near(rule_apply(rule_find("arena"), RULE_WRONG, &one, 1).value, 20);
    assert_near(rule_apply(rule_find("arena_pr77"), RULE_NOT_BUILT, &one, 1).value, 0);
}

static void a_case_without_a_time_leaves_no_figure(void **state)
{
    (void)state;
    const double bad[] = {NAN, INFINITY, 0, -1};
    for (size_t i = 0; i < LENGTH(bad); i++) {
        const struct rule_case cases[] = {timed(1, 2), timed(bad[i], bad[i])};
        struct rule_span span = rule_apply(rule_find("mean"), RULE_RIGHT, cases, 2);
        assert_false(rule_is_some(&span));
        span = rule_apply(rule_find("score"), RULE_RIGHT, cases, 2);
        assert_false(rule_is_some(&span));
    }
    struct rule_span span = rule_apply(rule_find("geom"), RULE_RIGHT, NULL, 0);
    assert_false(rule_is_some(&span));
    assert_true(isnan(span.value));
}

static struct rule_problem problem(bool has_baseline, bool right, double speedup)
{
    return (struct rule_problem){has_baseline, right, rule_exactly(speedup)};
}

/* numpy with KernelBench's score.py says the same of these, but for the geometric mean of those without a time. */
static void kernelbench_counts_what_is_faster_than_p(void **state)
{
    (void)state;
    const struct rule_problem problems[] = {
        problem(true, true, 4),    problem(true, true, 1),    problem(true, true, 0.5),
        problem(true, false, 100), problem(true, true, 1.75), problem(false, true, 100),
    };
    struct rule_run run;
    rule_kernelbench(problems, LENGTH(problems), &run);
    assert_int_equal(run.n, 5);
    assert_int_equal(run.right, 4);
    assert_int_equal(run.untimed, 0);
    const double expected[RULE_FAST_P] = {0.8, 0.6, 0.6, 0.4, 0.4, 0.2};
    for (size_t k = 0; k < RULE_FAST_P; k++)
        assert_near(run.fast[k].value, expected[k]);
    assert_near(run.geometric_mean.value, pow(4 * 0.5 * 1.75, 0.25));
}

static void right_but_never_timed_is_not_fast_and_spoils_no_mean(void **state)
{
    (void)state;
    const struct rule_problem problems[] = {
        problem(true, true, 2), problem(true, true, -3), {true, true, rule_none()}};
    struct rule_run run;
    rule_kernelbench(problems, LENGTH(problems), &run);
    assert_int_equal(run.right, 3);
    assert_int_equal(run.untimed, 2);
    assert_near(run.fast[0].value, 1.0 / 3);
    assert_near(run.geometric_mean.value, 2);
    rule_kernelbench(problems + 1, 2, &run);
    assert_near(run.fast[0].value, 0);
    assert_near(run.geometric_mean.value, 0);
    rule_kernelbench(NULL, 0, &run);
    assert_int_equal(run.n, 0);
    assert_near(run.fast[3].value, 0);
}

static void the_ends_of_speedups_are_the_ends_of_shares(void **state)
{
    (void)state;
    const struct rule_problem problems[] = {{true, true, {1.01, 0.99, 1.03}},
                                            {true, true, {0.99, 0.98, 1.02}}};
    struct rule_run run;
    rule_kernelbench(problems, 2, &run);
    assert_near(rule_fast_p[3], 1);
    assert_near(run.fast[3].value, 0.5);
    assert_near(run.fast[3].low, 0);
    assert_near(run.fast[3].high, 1);
    assert_near(run.geometric_mean.low, sqrt(0.99 * 0.98));
}

/* Golden: AgentKernelArena's testcases.py was run with these, on its main branch and on that of pull request 77. */
static void the_arena_speedup_is_reproduced(void **state)
{
    (void)state;
#define GRAPH "cuda_graph", "cuda_graph"
    static const struct {
        struct rule_pair pairs[2];
        size_t n;
        double main, pr77;
    } golden[] = {
        {{{1, .5, GRAPH}, {2, 2.5, GRAPH}}, 2, 1.4, 1.4},
        {{{.01, .005, GRAPH}, {10, 20, GRAPH}}, 2, 1.25, 1.25},
        {{{1, .5, GRAPH}, {2, NAN, GRAPH}}, 2, 0, 0},
        {{{1, .5, GRAPH}, {2, -1, GRAPH}}, 2, 0, 0},
        {{{1, .5, GRAPH}, {NAN, 2, GRAPH}}, 2, 0, 0},
        {{{1, .5, "cuda_graph", "cuda_event_fallback"}}, 1, 2, 0},
        {{{1, .5, "cuda_event_fallback", "cuda_event_fallback"}}, 1, 2, 2},
        {{{1, .5, NULL, NULL}, {2, 2.5, NULL, NULL}}, 2, 1.4, 0},
        {{{1, .5, "mixed:a,b", "mixed:a,b"}}, 1, 2, 0},
        {{{1, .5, GRAPH}}, 0, 0, 0},
    };
#undef GRAPH
    for (size_t i = 0; i < LENGTH(golden); i++) {
        assert_near(rule_arena_speedup(RULE_ARENA_MAIN, golden[i].pairs, golden[i].n),
                    golden[i].main);
        assert_near(rule_arena_speedup(RULE_ARENA_77, golden[i].pairs, golden[i].n),
                    golden[i].pr77);
    }
}

/* Golden: score.py of the same two. */
static void the_arena_score_is_reproduced(void **state)
{
    (void)state;
    assert_near(rule_arena_score(RULE_ARENA_MAIN, RULE_NOT_BUILT, 3, 1.5, 2), 0);
    assert_near(rule_arena_score(RULE_ARENA_77, RULE_WRONG, 3, 1.5, 2), 20);
    assert_near(rule_arena_score(RULE_ARENA_MAIN, RULE_RIGHT, 1.5, 1.5, 1.4), 260);
    assert_near(rule_arena_score(RULE_ARENA_77, RULE_RIGHT, 1.5, 1.5, 1.4), 260);
    assert_near(rule_arena_score(RULE_ARENA_MAIN, RULE_RIGHT, 3, 1.5, 0), 320);
    assert_near(rule_arena_score(RULE_ARENA_77, RULE_RIGHT, 3, 1.5, 0), 120);
    assert_near(rule_arena_score(RULE_ARENA_MAIN, RULE_RIGHT, 3, 0, 0), 120);
    assert_near(rule_arena_score(RULE_ARENA_MAIN, RULE_RIGHT, NAN, 1.5, NAN), 120);
}

/* Golden: postprocessing.py; p90 lies above the largest sample. */
static void the_arena_statistics_are_reproduced(void **state)
{
    (void)state;
    const double sorted[] = {.8, 1, 1.4, 2, 9};
    struct rule_arena_stats s;
    rule_arena_stats(sorted, 5, &s);
    assert_near(s.mean, 2.84);
    assert_near(s.median, 1.4);
    assert_true(fabs(s.deviation - 3.4739027) < 1e-7);
    assert_near(s.p25, .9);
    assert_near(s.p75, 5.5);
    assert_near(s.p90, 11.8);
    rule_arena_stats(sorted, 2, &s);
    assert_near(s.median, .9);
    assert_near(s.p25, .75);
    assert_near(s.p90, 1.14);
    rule_arena_stats(sorted, 1, &s);
    assert_near(s.p90, .8);
    assert_near(s.deviation, 0);
    rule_arena_stats(NULL, 0, &s);
    assert_near(s.mean, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_finds_its_rule),
        cmocka_unit_test(gpu_mode_makes_seconds_of_all_cases_or_the_last),
        cmocka_unit_test(speedups_are_averaged_as_the_board_does),
        cmocka_unit_test(what_is_not_right_has_no_figure_but_points),
        cmocka_unit_test(a_case_without_a_time_leaves_no_figure),
        cmocka_unit_test(kernelbench_counts_what_is_faster_than_p),
        cmocka_unit_test(right_but_never_timed_is_not_fast_and_spoils_no_mean),
        cmocka_unit_test(the_ends_of_speedups_are_the_ends_of_shares),
        cmocka_unit_test(the_arena_speedup_is_reproduced),
        cmocka_unit_test(the_arena_score_is_reproduced),
        cmocka_unit_test(the_arena_statistics_are_reproduced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
