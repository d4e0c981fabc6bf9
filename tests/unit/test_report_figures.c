/* What a result carries for its report: samples, the elements around the worst one, what a roofline is made from. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "grader/judge/compare.h"
#include "grader/measure/sampling.h"

static const struct tolerance tolerance = {
    .dtype = DTYPE_F32, .absolute = 1e-3, .relative = 1e-2, .norm = 1e-2};

static void samples_stay_in_their_order(void **state)
{
    (void)state;
    static const double samples[] = {5, 3, 4};
    struct series series = {.n_kept = 77};
    sampling_keep(samples, 3, &series);
    assert_int_equal(series.n_kept, 3);
    assert_true(series.kept[0] == 5 && series.kept[1] == 3 && series.kept[2] == 4);
    sampling_keep(samples, 0, &series);
    assert_int_equal(series.n_kept, 0);
}

static void of_too_many_samples_some_are_kept_at_even_distances(void **state)
{
    (void)state;
    static double samples[3 * SAMPLING_MAX_KEPT + 1];
    size_t n = sizeof samples / sizeof samples[0];
    for (size_t i = 0; i < n; i++)
        samples[i] = (double)i;
    struct series series = {.n_kept = 0};
    sampling_keep(samples, SAMPLING_MAX_KEPT, &series);
    assert_int_equal(series.n_kept, SAMPLING_MAX_KEPT);
    assert_true(series.kept[SAMPLING_MAX_KEPT - 1] == SAMPLING_MAX_KEPT - 1);
    sampling_keep(samples, n, &series);
    assert_int_equal(series.n_kept, SAMPLING_MAX_KEPT);
    assert_true(series.kept[0] == 0);
    for (size_t i = 1; i < series.n_kept; i++) {
        double step = series.kept[i] - series.kept[i - 1];
        assert_true(step == 3 || step == 4);
    }
}

/* count elements, all right but the one at `worst`. */
static struct comparison compare(uint64_t count, uint64_t worst)
{
    static float got[40];
    static double expected[40];
    for (uint64_t i = 0; i < count; i++) {
        expected[i] = (double)i;
        got[i] = (float)i;
    }
    if (count)
        got[worst] = -7;
    struct comparison c;
    compare_output(DTYPE_F32, got, NULL, expected, count, &tolerance, &c);
    return c;
}

static void assert_around(uint64_t count, uint64_t worst, uint64_t first, unsigned n)
{
    struct comparison c = compare(count, worst);
    assert_int_equal(c.worst_index, worst);
    assert_int_equal(c.around_first, first);
    assert_int_equal(c.n_around, n);
    for (unsigned i = 0; i < n; i++) {
        assert_true(c.around_expected[i] == (double)(first + i));
        assert_true(c.around_got[i] == (first + i == worst ? -7 : (double)(first + i)));
    }
}

static void the_worst_element_is_shown_among_its_neighbours(void **state)
{
    (void)state;
    assert_around(40, 20, 12, COMPARE_AROUND);
    assert_around(40, 3, 0, COMPARE_AROUND);
    assert_around(40, 39, 31, 9);
    assert_around(5, 4, 0, 5);
    assert_around(1, 0, 0, 1);
    struct comparison none = compare(0, 0);
    assert_int_equal(none.n_around, 0);
}

static void integers_are_shown_too(void **state)
{
    (void)state;
    static const int32_t got[] = {1, 2, 9};
    static const int64_t expected[] = {1, 2, 3};
    struct comparison c;
    compare_output(DTYPE_I32, got, NULL, expected, 3, NULL, &c);
    assert_int_equal(c.n_around, 3);
    assert_true(c.around_expected[2] == 3 && c.around_got[2] == 9 && c.around_got[0] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_stay_in_their_order),
        cmocka_unit_test(of_too_many_samples_some_are_kept_at_even_distances),
        cmocka_unit_test(the_worst_element_is_shown_among_its_neighbours),
        cmocka_unit_test(integers_are_shown_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
