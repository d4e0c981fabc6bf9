/* What two ratios with their intervals are called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first */
#include <cmocka.h>
#include <math.h>

#include "grader/compare/compare.h"

static const struct compare_ratio same = {1, 0.97, 1.03}, more = {1.3, 1.2, 1.4},
                                  less = {0.7, 0.6, 0.8}, vague = {1.5, 0.9, 2.5},
                                  slightly = {1.05, 1.02, 1.08};

static const char *verdict(struct compare_ratio device, struct compare_ratio host)
{
    return compare_verdict(&device, 0.05, &host, 0.1);
}

static void test_verdicts(void **state)
{
    (void)state;
    assert_string_equal(verdict(same, same), "no difference");
    assert_string_equal(verdict(more, same), "kernel faster");
    assert_string_equal(verdict(more, less), "kernel faster");
    assert_string_equal(verdict(less, more), "kernel slower");
    assert_string_equal(verdict(same, more), "launch path faster only");
    assert_string_equal(verdict(vague, less), "launch path slower only");
    assert_string_equal(verdict(vague, same), "no difference");
    /* What is not known at all is not known to be alike. */
    assert_string_equal(verdict(vague, vague), "unresolved");
    assert_string_equal(verdict(more, vague), "kernel faster");
    assert_string_equal(verdict(same, (struct compare_ratio){NAN, NAN, NAN}), "unresolved");
    /* Wholly above 1 is not enough: it must be wholly beyond the margin. */
    assert_string_equal(verdict(slightly, slightly), "no difference");
}

/* Exchanging the sides exchanges the words. */
static void test_symmetry(void **state)
{
    (void)state;
    for (double x = 0.8; x < 1.3; x += 0.01) {
        const struct compare_ratio r = {x, x * 0.99, x * 1.01};
        const struct compare_ratio inverse = {1 / r.value, 1 / r.high, 1 / r.low};
        assert_int_equal(verdict(r, same)[7] == 'f', verdict(inverse, same)[7] == 's');
    }
}

static void assert_near(double a, double b)
{
    assert_true(fabs(a - b) < 1e-9);
}

static void test_mean(void **state)
{
    (void)state;
    const struct compare_ratio two[] = {{2, 1, 4}, {0.5, 0.25, 1}};
    struct compare_ratio mean = compare_mean(two, 2);
    assert_near(mean.value, 1);
    /* Half-widths of log 2 each: sqrt(2) log 2 / 2 together. */
    assert_near(mean.high, exp(sqrt(2) * log(2) / 2));
    assert_near(mean.low, 1 / mean.high);
    mean = compare_mean(two, 1);
    assert_near(mean.low, 1);
    assert_near(mean.high, 4);
}

static void test_groups(void **state)
{
    (void)state;
    /* Some are far off, upwards or downwards. */
    static const double a[] = {20, 20, 200, 20, 20, 20, 20, 5, 20};
    static const double b[] = {10, 10, 10, 10, 70, 10, 10, 10, 10};
    struct compare_ratio r = compare_groups(a, b, 9);
    assert_near(r.value, 2);
    assert_near(r.low, 2);
    assert_near(r.high, 2);
    /* What is spread is not known so well; exchanging the sides turns it round. */
    static const double spread[] = {16, 17, 18, 19, 20, 21, 22, 23, 24},
                        ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    r = compare_groups(spread, ones, 9);
    assert_near(r.value, 20);
    assert_true(r.low >= 17 && r.low < 20 && r.high > 20 && r.high <= 23);
    struct compare_ratio inverse = compare_groups(ones, spread, 9);
    assert_near(inverse.low, 1 / r.high);
    assert_near(inverse.high, 1 / r.low);
    /* Of so few none can be left out. */
    r = compare_groups(spread, ones, 2);
    assert_near(r.low, 16);
    assert_near(r.high, 17);
    assert_true(isnan(compare_groups(a, b, 0).value));
    static const double zero[] = {0};
    assert_near(compare_groups(zero, zero, 1).value, 1);
}

static void test_processes_that_differ_widen_the_interval(void **state)
{
    (void)state;
    const struct compare_ratio one = {1.1, 1.09, 1.11};
    struct compare_ratio r = compare_processes(&one, 1);
    assert_near(r.low, 1.09);
    assert_near(r.high, 1.11);
    /* Logarithms -0.1, 0, 0.1: their deviation is 0.1, t for two degrees of freedom 4.303. */
    const struct compare_ratio three[] = {{exp(-0.1), 0, 9}, {1, 0, 9}, {exp(0.1), 0, 9}};
    r = compare_processes(three, 3);
    assert_near(r.value, 1);
    assert_near(log(r.high), 4.303 * 0.1 / sqrt(3));
    assert_near(log(r.low), -4.303 * 0.1 / sqrt(3));
    const struct compare_ratio alike[] = {{2, 1, 3}, {2, 1, 3}, {2, 1, 3}, {2, 1, 3}, {2, 1, 3}};
    r = compare_processes(alike, COMPARE_PAIRS);
    assert_near(r.low, 2);
    assert_near(r.high, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processes_that_differ_widen_the_interval),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_symmetry),
        cmocka_unit_test(test_mean),
        cmocka_unit_test(test_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
