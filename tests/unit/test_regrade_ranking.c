#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "grader/regrade/ranking.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9))
        fail_msg("%.12g is not %.12g", got, expected);
}

/* An entry with a new time known to so many percent. */
static struct ranking_entry entry(double old, double now, double percent, double host)
{
    return (struct ranking_entry){
        .old_figure = old,
        .now = {now, now * (1 - percent / 100), now * (1 + percent / 100)},
        .host_ns = host};
}

static struct ranking_entry rejected(double old)
{
    return (struct ranking_entry){.old_figure = old, .now = rule_none(), .host_ns = NAN};
}

static void equal_figures_share_the_better_rank(void **state)
{
    (void)state;
    struct ranking_entry e[] = {entry(3, 30, 1, 1), entry(1, 10, 1, 1), entry(2, 20, 1, 1),
                                entry(2, 40, 1, 1), entry(NAN, 5, 1, 1)};
    struct ranking r;
    assert_int_equal(ranking_make(e, LENGTH(e), true, true, &r), 0);
    const unsigned old[] = {4, 1, 2, 2, 0}, now[] = {4, 2, 3, 5, 1};
    for (size_t i = 0; i < LENGTH(e); i++) {
        assert_int_equal(e[i].old_rank, old[i]);
        assert_int_equal(e[i].new_rank, now[i]);
    }
    assert_int_equal(r.compared, 4);
    assert_false(e[4].compared);
}

/* Each of a chain reaches the next, but the third no longer reaches the first: two groups, not one. */
static void a_group_is_tied_with_its_leader_and_no_chain(void **state)
{
    (void)state;
    struct ranking_entry e[] = {entry(1, 100, 1.5, 1), entry(2, 102, 1.5, 1), entry(3, 104, 1.5, 1),
                                entry(4, 106, 1.5, 1), entry(5, 200, 1.5, 1)};
    struct ranking r;
    assert_int_equal(ranking_make(e, LENGTH(e), true, true, &r), 0);
    const unsigned groups[] = {1, 1, 2, 2, 3}, ranks[] = {1, 1, 3, 3, 5};
    for (size_t i = 0; i < LENGTH(e); i++) {
        assert_int_equal(e[i].group, groups[i]);
        assert_int_equal(e[i].new_rank, ranks[i]);
        assert_true(e[i].kept);
    }
    assert_near(r.tau.tau, 8 / sqrt(10 * 8));
}

static void intervals_that_touch_are_tied(void **state)
{
    (void)state;
    struct ranking_entry e[] = {{.old_figure = 1, .now = {10, 9, 11}},
                                {.old_figure = 2, .now = {12, 11, 13}},
                                {.old_figure = 3, .now = {12, 11.001, 13}}};
    struct ranking r;
    assert_int_equal(ranking_make(e, LENGTH(e), true, true, &r), 0);
    assert_int_equal(e[1].group, 1);
    assert_int_equal(e[2].group, 2);
}

static void higher_may_be_better(void **state)
{
    (void)state;
    struct ranking_entry e[] = {entry(100, 2, 1, 1), entry(300, 9, 1, 1), entry(200, 9.05, 1, 1)};
    struct ranking r;
    assert_int_equal(ranking_make(e, LENGTH(e), false, false, &r), 0);
    assert_int_equal(e[0].old_rank, 3);
    assert_int_equal(e[0].new_rank, 3);
    assert_int_equal(e[1].new_rank, 1);
    assert_int_equal(e[2].new_rank, 1);
    assert_int_equal(r.kept, 3);
    /* Old seconds, new speedups. */
    assert_int_equal(ranking_make(e, LENGTH(e), true, false, &r), 0);
    assert_int_equal(e[0].old_rank, 1);
    assert_false(e[0].kept);
}

static void nobody_rises_because_another_was_thrown_out(void **state)
{
    (void)state;
    struct ranking_entry e[] = {rejected(1), entry(2, 20, 1, 1), entry(3, 30, 1, 1), rejected(3.5),
                                entry(4, 10, 1, 1)};
    struct ranking r;
    assert_int_equal(ranking_make(e, LENGTH(e), true, true, &r), 0);
    assert_int_equal(r.compared, 3);
    assert_int_equal(e[0].old_rank, 1);
    assert_int_equal(e[0].new_rank, 0);
    assert_int_equal(e[0].group, 0);
    /* 1, 2, 3 of what is left became 2, 3, 1. */
    assert_int_equal(r.kept, 0);
    e[4].now = rule_exactly(100);
    assert_int_equal(ranking_make(e, LENGTH(e), true, true, &r), 0);
    assert_int_equal(r.kept, 3);
}

/* One kernel behind a fast and a slow launch path: several times as fast on the board, and the same on the device. */
static void a_lead_that_was_launch_path_is_told(void **state)
{
    (void)state;
    struct ranking_entry e[] = {entry(10, 3.0, 1, 10), entry(14, 2.99, 1, 14),
                                entry(30, 3.01, 1, 31), entry(60, 30, 1, 31)};
    struct ranking r;
    assert_int_equal(ranking_make(e, LENGTH(e), true, true, &r), 0);
    assert_int_equal(e[0].gain, RANKING_GAIN_LAUNCH);
    assert_int_equal(e[0].over, 2);
    assert_int_equal(e[0].over_nearest, 1);
    assert_int_equal(e[0].over_farthest, 2);
    assert_int_equal(e[1].gain, RANKING_GAIN_LAUNCH);
    assert_int_equal(e[1].over, 1);
    assert_int_equal(e[1].over_nearest, 2);
    /* It is ahead of the last one on the device as well. */
    assert_int_equal(e[2].gain, RANKING_GAIN_STANDS);
}

static void a_lead_that_host_overhead_does_not_explain_is_gone_only(void **state)
{
    (void)state;
    struct ranking r;
    struct ranking_entry same[] = {entry(10, 3, 1, 20), entry(20, 3, 1, 20.9)};
    assert_int_equal(ranking_make(same, 2, true, true, &r), 0);
    assert_int_equal(same[0].gain, RANKING_GAIN_GONE);
    struct ranking_entry unknown[] = {entry(10, 3, 1, NAN), entry(20, 3, 1, 50)};
    assert_int_equal(ranking_make(unknown, 2, true, true, &r), 0);
    assert_int_equal(unknown[0].gain, RANKING_GAIN_GONE);
    /* One of two explains it: that one is told. */
    struct ranking_entry both[] = {entry(10, 3, 1, 10), entry(20, 2, 1, 10), entry(30, 3, 1, 40)};
    assert_int_equal(ranking_make(both, 3, true, true, &r), 0);
    assert_int_equal(both[0].gain, RANKING_GAIN_LAUNCH);
    assert_int_equal(both[0].over, 1);
    assert_int_equal(both[0].over_nearest, 2);
    /* Overheads that differ by 20 ns are no lead of 300, whatever the machine; without times nobody can tell. */
    struct ranking_entry far[] = {entry(700, 3, 1, 10), entry(1000, 3, 1, 30)};
    far[0].old_ns = 700;
    far[1].old_ns = 1000;
    assert_int_equal(ranking_make(far, 2, true, true, &r), 0);
    assert_int_equal(far[0].gain, RANKING_GAIN_GONE);
    far[1].host_ns = 10 + 300.0 / RANKING_HOST_REACH;
    assert_int_equal(ranking_make(far, 2, true, true, &r), 0);
    assert_int_equal(far[0].gain, RANKING_GAIN_LAUNCH);
    far[1].host_ns = 30;
    far[0].old_ns = NAN;
    assert_int_equal(ranking_make(far, 2, true, true, &r), 0);
    assert_int_equal(far[0].gain, RANKING_GAIN_LAUNCH);
    /* A lead of less than five percent is none; nor is one that still stands. */
    struct ranking_entry small[] = {entry(100, 3, 1, 10), entry(104.9, 3, 1, 40)};
    assert_int_equal(ranking_make(small, 2, true, true, &r), 0);
    assert_int_equal(small[0].gain, RANKING_GAIN_STANDS);
    struct ranking_entry still[] = {entry(10, 3, 1, 10), entry(20, 3.07, 1, 40)};
    assert_int_equal(ranking_make(still, 2, true, true, &r), 0);
    assert_int_equal(still[0].gain, RANKING_GAIN_STANDS);
}

/* The second is tied with the third, which is slower to launch; but it comes from the third place and leads now. */
static void who_rose_has_lost_nothing(void **state)
{
    (void)state;
    struct ranking_entry e[] = {entry(10, 9, 1, 10), entry(11, 8, 1, 10), entry(12, 3, 1, 10),
                                entry(14, 3, 1, 40)};
    struct ranking r;
    assert_int_equal(ranking_make(e, LENGTH(e), true, true, &r), 0);
    assert_int_equal(e[2].new_rank, 1);
    assert_int_equal(e[2].gain, RANKING_GAIN_STANDS);
    assert_int_equal(e[0].gain, RANKING_GAIN_LAUNCH);
    assert_int_equal(e[0].over, 1);
}

static void only_the_first_are_looked_into(void **state)
{
    (void)state;
    struct ranking_entry e[RANKING_WINNERS + 2];
    for (size_t i = 0; i < LENGTH(e); i++)
        e[i] = entry((double)(1u << i), 3, 1, (double)(1u << i));
    struct ranking r;
    assert_int_equal(ranking_make(e, LENGTH(e), true, true, &r), 0);
    assert_int_equal(e[RANKING_WINNERS - 1].gain, RANKING_GAIN_LAUNCH);
    assert_int_equal(e[RANKING_WINNERS].gain, RANKING_GAIN_STANDS);
}

static double sign(double x)
{
    return (x > 0) - (x < 0);
}

/* By its definition, pair by pair. */
static double tau_by_hand(const double *x, const double *y, size_t n)
{
    double agree = 0, x_apart = 0, y_apart = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            agree += sign(x[i] - x[j]) * sign(y[i] - y[j]);
            x_apart += fabs(sign(x[i] - x[j]));
            y_apart += fabs(sign(y[i] - y[j]));
        }
    return agree / sqrt(x_apart * y_apart);
}

static void tau_is_what_its_definition_says(void **state)
{
    (void)state;
    struct ranking_tau t;
    const double x[] = {1, 2, 3, 4}, y[] = {1, 2, 4, 3};
    assert_int_equal(ranking_tau(x, y, 4, &t), 0);
    assert_near(t.tau, 4.0 / 6);
    assert_true(isnan(t.low) && isnan(t.high));
    uint32_t seed = 7;
    for (size_t n = 2; n < 60; n += 3) {
        double a[60], b[60];
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525 + 1013904223;
            a[i] = i < 2 ? (double)i : seed >> 28;
            b[i] = i < 2 ? (double)i : a[i] + (seed >> 20) % 9;
        }
        assert_int_equal(ranking_tau(a, b, n, &t), 0);
        assert_near(t.tau, tau_by_hand(a, b, n));
        if (n >= RANKING_TAU_ENTRIES && t.tau < 1)
            assert_true(t.low < t.tau && t.tau < t.high && t.low >= -1 && t.high <= 1);
    }
}

/* Worked by hand with the formula of a table whose cells are the entries. */
static void the_error_is_that_of_brown_and_benedetti(void **state)
{
    (void)state;
    const double x[] = {1, 2, 2, 4, 5, 6, 6, 6, 9, 10, 11, 12};
    const double y[] = {2, 1, 3, 3, 7, 5, 5, 8, 9, 9, 12, 10};
    const size_t n = LENGTH(x);
    double dx = 144, dy = 144, d[12] = {0}, rx[12] = {0}, ry[12] = {0};
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            rx[i] += x[i] == x[j];
            ry[i] += y[i] == y[j];
            d[i] += sign(x[i] - x[j]) * sign(y[i] - y[j]);
        }
    for (size_t i = 0; i < n; i++) {
        dx -= rx[i];
        dy -= ry[i];
    }
    double tau = tau_by_hand(x, y, n), w = sqrt(dx * dy), sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += pow(2 * w * d[i] + tau * (rx[i] * dy + ry[i] * dx), 2);
    double error = sqrt(sum - 1728 * tau * tau * pow(dx + dy, 2)) / (w * w);
    struct ranking_tau t;
    assert_int_equal(ranking_tau(x, y, n, &t), 0);
    assert_near(t.low, tau - 1.96 * error);
    assert_near(t.high, tau + 1.96 * error);
    assert_true(error > 0.05 && error < 0.06);
}

static void full_agreement_is_not_taken_for_certainty(void **state)
{
    (void)state;
    double x[40], y[40];
    for (size_t i = 0; i < 40; i++) {
        x[i] = (double)i;
        y[i] = exp((double)i / 10);
    }
    struct ranking_tau t;
    assert_int_equal(ranking_tau(x, y, 40, &t), 0);
    assert_near(t.tau, 1);
    assert_near(t.high, 1);
    /* 20 of 20 pairs agree: at least 0.025^(1/20) = 83 % do. */
    assert_true(t.low > 0.66 && t.low < 0.67);
    for (size_t i = 0; i < 40; i++)
        y[i] = -y[i];
    assert_int_equal(ranking_tau(x, y, 40, &t), 0);
    assert_near(t.tau, -1);
    assert_true(t.high < -0.66 && t.high > -0.67);
}

static void without_two_orders_there_is_no_tau(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3}, same[] = {5, 5, 5};
    struct ranking_tau t;
    assert_int_equal(ranking_tau(x, same, 3, &t), 0);
    assert_true(isnan(t.tau));
    assert_int_equal(ranking_tau(x, x, 1, &t), 0);
    assert_true(isnan(t.tau));
    struct ranking r;
    assert_int_equal(ranking_make(NULL, 0, true, true, &r), 0);
    assert_int_equal(r.compared, 0);
    assert_true(isnan(r.tau.tau));
}

static void a_hundred_thousand_entries_are_ranked(void **state)
{
    (void)state;
    const size_t n = 100000;
    struct ranking_entry *e = calloc(n, sizeof *e);
    assert_non_null(e);
    for (size_t i = 0; i < n; i++)
        e[i] = entry(1 + (double)(i * 7919 % n), 1 + (double)(i * 7919 % n), 0.0001, 1);
    struct ranking r;
    assert_int_equal(ranking_make(e, n, true, true, &r), 0);
    assert_int_equal(r.kept, n);
    assert_true(r.tau.tau > 0.999);
    free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_figures_share_the_better_rank),
        cmocka_unit_test(a_group_is_tied_with_its_leader_and_no_chain),
        cmocka_unit_test(intervals_that_touch_are_tied),
        cmocka_unit_test(higher_may_be_better),
        cmocka_unit_test(nobody_rises_because_another_was_thrown_out),
        cmocka_unit_test(a_lead_that_was_launch_path_is_told),
        cmocka_unit_test(a_lead_that_host_overhead_does_not_explain_is_gone_only),
        cmocka_unit_test(who_rose_has_lost_nothing),
        cmocka_unit_test(only_the_first_are_looked_into),
        cmocka_unit_test(tau_is_what_its_definition_says),
        cmocka_unit_test(the_error_is_that_of_brown_and_benedetti),
        cmocka_unit_test(full_agreement_is_not_taken_for_certainty),
        cmocka_unit_test(without_two_orders_there_is_no_tau),
        cmocka_unit_test(a_hundred_thousand_entries_are_ranked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
