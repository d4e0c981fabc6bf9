#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "grader/measure/statistics.h"

static void assert_near(double got, double expected)
{
    assert_true(got > expected - 1e-9 && got < expected + 1e-9);
}

static void quantiles_interpolate(void **state)
{
    (void)state;
    double samples[] = {40, 10, 30, 20};
    statistics_sort(samples, 4);
    assert_near(samples[0], 10);
    assert_near(statistics_quantile(samples, 4, 0.5), 25);
    assert_near(statistics_quantile(samples, 4, 0), 10);
    assert_near(statistics_quantile(samples, 4, 1), 40);
    assert_near(statistics_quantile(samples, 4, 0.9), 37);
    assert_near(statistics_quantile(samples, 1, 0.99), 10);
}

static void a_summary_has_the_usual_figures(void **state)
{
    (void)state;
    const double samples[] = {1, 2, 3, 4, 100};
    struct summary s;
    statistics_summarise(samples, 5, &s);
    assert_int_equal(s.n, 5);
    assert_near(s.median, 3);
    assert_near(s.mean, 22);
    assert_near(s.min, 1);
    /* variance (441 + 400 + 361 + 324 + 6084) / 4 = 1902.5; error sqrt(1902.5 / 5) */
    assert_true(s.standard_error > 19.50 && s.standard_error < 19.51);
}

/* Ranks for n = 100 at 95 %: 50 -+ 9.8, rounded outwards: 40 and 60. */
static void the_interval_of_the_median_is_made_of_order_statistics(void **state)
{
    (void)state;
    double samples[100], low, high;
    for (int i = 0; i < 100; i++)
        samples[i] = i + 1;
    statistics_median_interval(samples, 100, 1.96, &low, &high);
    assert_near(low, 40);
    assert_near(high, 60);
    statistics_median_interval(samples, 3, 1.96, &low, &high);
    assert_near(low, 1);
    assert_near(high, 3);
}

/* The median of all pairs' means, by making them all. */
static double centre_by_hand(const double *samples, size_t n)
{
    static double means[100 * 101 / 2];
    size_t pairs = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            means[pairs++] = (samples[i] + samples[j]) / 2;
    statistics_sort(means, pairs);
    return statistics_quantile(means, pairs, 0.5);
}

static void the_centre_is_the_median_of_pairs(void **state)
{
    (void)state;
    double samples[100], centre, low, high;
    uint32_t random = 12345;
    for (size_t n = 1; n <= 100; n++) {
        for (size_t i = 0; i < n; i++) {
            random = random * 1664525u + 1013904223u;
            samples[i] = 1 + (double)(random >> 20) / 4096 + (i % 3 ? 0 : 5);
        }
        statistics_sort(samples, n);
        statistics_centre(samples, n, 1.96, &centre, &low, &high);
        assert_near(centre, centre_by_hand(samples, n));
        assert_true(low <= centre && centre <= high);
    }
    /* Ranks for n = 10 at 95 %: 55 / 2 - 1.96 * sqrt(10 * 11 * 21 / 24) = 8.27, so the 8th of 55 means and the 48th. */
    for (int i = 0; i < 10; i++)
        samples[i] = 1 << i;
    statistics_centre(samples, 10, 1.96, &centre, &low, &high);
    assert_near(low, 5);
    assert_near(high, 258);
    statistics_centre(samples, 3, 1.96, &centre, &low, &high);
    assert_near(low, 1);
    assert_near(high, 4);
    /* A quarter of wild samples moves it less than the spread of the others. */
    for (int i = 0; i < 100; i++)
        samples[i] = i < 80 ? 100 + (i % 10) : 1e6;
    statistics_sort(samples, 100);
    statistics_centre(samples, 100, 1.96, &centre, &low, &high);
    assert_true(centre > 100 && centre < 110);
}

static void two_groups_are_found(void **state)
{
    (void)state;
    double samples[100], lower, upper;
    for (size_t i = 0; i < 100; i++)
        samples[i] = (i < 40 ? 1000 : 1600) + (double)(i * 7 % 13);
    statistics_sort(samples, 100);
    assert_true(statistics_two_groups(samples, 100, &lower, &upper));
    assert_true(lower > 1000 && lower < 1013 && upper > 1600 && upper < 1613);
    /* Too near each other, too few in one of them, one of them no group, too few in all. */
    for (size_t i = 0; i < 100; i++)
        samples[i] = (i < 40 ? 1000 : 1400) + (double)i;
    assert_false(statistics_two_groups(samples, 100, &lower, &upper));
    for (size_t i = 0; i < 100; i++)
        samples[i] = (i < 20 ? 1000 : 1800) + (double)i;
    assert_false(statistics_two_groups(samples, 100, &lower, &upper));
    for (size_t i = 0; i < 100; i++)
        samples[i] = i < 40 ? 1000 + (double)i : 1500 + 20 * (double)i;
    assert_false(statistics_two_groups(samples, 100, &lower, &upper));
    for (size_t i = 0; i < 19; i++)
        samples[i] = i < 9 ? 1000 : 2000;
    assert_false(statistics_two_groups(samples, 19, &lower, &upper));
    for (size_t i = 0; i < 100; i++)
        samples[i] = 1000;
    assert_false(statistics_two_groups(samples, 100, &lower, &upper));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_interpolate),
        cmocka_unit_test(the_centre_is_the_median_of_pairs),
        cmocka_unit_test(two_groups_are_found),
        cmocka_unit_test(a_summary_has_the_usual_figures),
        cmocka_unit_test(the_interval_of_the_median_is_made_of_order_statistics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
