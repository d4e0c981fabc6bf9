#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "grader/judge/compare.h"

static const struct tolerance tolerance = {
    .dtype = DTYPE_F32, .absolute = 1e-3, .relative = 1e-2, .norm = 1e-2};

static struct comparison compare(const float *got, const double *expected, size_t n)
{
    static const float poison[8] = {9, 9, 9, 9, 9, 9, 9, 9};
    struct comparison c;
    compare_output(DTYPE_F32, got, poison, expected, n, &tolerance, &c);
    return c;
}

static void values_inside_the_tolerance_pass(void **state)
{
    (void)state;
    const float got[] = {100.9f, -50.4f, 0.0009f};
    const double expected[] = {100, -50, 0};
    struct comparison c = compare(got, expected, 3);
    assert_true(comparison_passes(&c));
    assert_int_equal(c.bad, 0);
}

static void one_element_outside_fails_and_is_named(void **state)
{
    (void)state;
    const float got[] = {1, 2, 3.5f, 4};
    const double expected[] = {1, 2, 3, 4};
    struct comparison c = compare(got, expected, 4);
    assert_false(comparison_passes(&c));
    assert_int_equal(c.bad, 1);
    assert_int_equal(c.worst_index, 2);
    assert_true(c.worst_error == 0.5 && c.worst_expected == 3 && c.worst_got == 3.5);
}

/* Every element is within its own tolerance, but all err the same way. */
static void the_norm_must_hold_too(void **state)
{
    (void)state;
    const struct tolerance strict = {
        .dtype = DTYPE_F32, .absolute = 0, .relative = 1e-2, .norm = 1e-3};
    const float got[] = {1.009f, 1.009f, 1.009f, 1.009f}, poison[4] = {0};
    const double expected[] = {1, 1, 1, 1};
    struct comparison c;
    compare_output(DTYPE_F32, got, poison, expected, 4, &strict, &c);
    assert_int_equal(c.bad, 0);
    assert_false(c.norm_ok);
    assert_false(comparison_passes(&c));
}

static void nan_and_infinity_are_no_wildcards(void **state)
{
    (void)state;
    const float got[] = {NAN, INFINITY, -INFINITY, 1};
    const double expected[] = {1, 1, INFINITY, NAN};
    struct comparison c = compare(got, expected, 4);
    assert_int_equal(c.bad, 4);
    assert_int_equal(c.nan, 1);
    const float same[] = {NAN, INFINITY, -INFINITY, 1};
    const double reference[] = {NAN, INFINITY, -INFINITY, 1};
    c = compare(same, reference, 4);
    assert_true(comparison_passes(&c));
}

static void poison_is_recognised(void **state)
{
    (void)state;
    const float got[] = {1, 9, 9, 5};
    const double expected[] = {1, 2, 9, 4};
    struct comparison c = compare(got, expected, 4);
    assert_int_equal(c.bad, 2);
    assert_int_equal(c.unwritten, 1);
}

static void without_poison_nothing_is_unwritten(void **state)
{
    (void)state;
    const float got[] = {1, 9};
    const double expected[] = {1, 2};
    struct comparison c;
    compare_output(DTYPE_F32, got, NULL, expected, 2, &tolerance, &c);
    assert_int_equal(c.bad, 1);
    assert_int_equal(c.unwritten, 0);
}

/* Whatever order they are looked at in: a device does it in many at once. */
static void the_worst_element_does_not_depend_on_the_order(void **state)
{
    (void)state;
    const float got[] = {1, 2, NAN, 7, INFINITY}, reversed[] = {INFINITY, 7, NAN, 2, 1};
    const double expected[] = {1, NAN, 3, 3, 4}, backwards[] = {4, 3, 3, NAN, 1};
    struct comparison c = compare(got, expected, 5);
    assert_int_equal(c.worst_index, 1);
    assert_true(isinf(c.worst_error));
    c = compare(reversed, backwards, 5);
    assert_int_equal(c.worst_index, 0);
    assert_true(isinf(c.worst_error));
    const float equal[] = {1, 3, 3, 3};
    const double all[] = {1, 1, 1, 1};
    assert_int_equal(compare(equal, all, 4).worst_index, 1);
}

static void integers_are_exact(void **state)
{
    (void)state;
    /* They differ in the last bit, which a double does not hold. */
    const int64_t got[] = {9007199254740993, 5}, poison[2] = {0},
                  expected[] = {9007199254740992, 5};
    struct comparison c;
    compare_output(DTYPE_I64, got, poison, expected, 2, NULL, &c);
    assert_int_equal(c.bad, 1);
    compare_output(DTYPE_I64, expected, poison, expected, 2, NULL, &c);
    assert_true(comparison_passes(&c));
}

static void nothing_to_compare_passes(void **state)
{
    (void)state;
    struct comparison c = compare(NULL, NULL, 0);
    assert_true(comparison_passes(&c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_inside_the_tolerance_pass),
        cmocka_unit_test(one_element_outside_fails_and_is_named),
        cmocka_unit_test(the_norm_must_hold_too),
        cmocka_unit_test(nan_and_infinity_are_no_wildcards),
        cmocka_unit_test(poison_is_recognised),
        cmocka_unit_test(without_poison_nothing_is_unwritten),
        cmocka_unit_test(the_worst_element_does_not_depend_on_the_order),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(nothing_to_compare_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
