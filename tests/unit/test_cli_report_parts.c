/* What the parts of the page are made of: escaped text and axes. */
#define _GNU_SOURCE
#include "report_help.h"

#include <math.h>

#include "grader/cli/report/html.h"
#include "grader/cli/report/scale.h"
#include "sandbox/base/cleanup.h"

static void markup_becomes_text(void **state)
{
    (void)state;
    cleanup_free char *text = written(html_text, "<script>alert(\"1\" & '2')</script>");
    assert_string_equal(text,
                        "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;");
    cleanup_free char *nothing = written(html_text, NULL);
    assert_string_equal(nothing, "");
}

#define BAD "\xEF\xBF\xBD"

static void what_xml_does_not_allow_is_replaced(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"tab\tline\n", "tab\tline\n"},
        {"\x01\x1B[2J\x7F", BAD BAD "[2J" BAD},
        {"\xC2\x85", BAD},                        /* C1 */
        {"µ–×∞", "µ–×∞"},                         /* two and three bytes */
        {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"}, /* four */
        {"\xFF\x80 \xC3", BAD BAD " " BAD},       /* stray, and cut short */
        {"\xC0\xBC", BAD BAD},                    /* '<' in two bytes */
        {"\xE0\x80\xBC", BAD BAD BAD},            /* in three */
        {"\xED\xA0\x80", BAD},                    /* a surrogate */
        {"\xEF\xBF\xBF", BAD},                    /* no character */
        {"\xF4\x90\x80\x80", BAD},                /* beyond the last one */
        {"\xF8\x88\x80\x80\x80", BAD BAD BAD BAD BAD},
        {"a\xE2\x80\xAE"
         "b",
         "a" BAD "b"}, /* right-to-left override */
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        cleanup_free char *text = written(html_text, pairs[i][0]);
        assert_string_equal(text, pairs[i][1]);
    }
}

static void write_four(FILE *out, const char *text)
{
    html_text_cut(out, text, 4);
}

static void long_text_is_cut_between_characters(void **state)
{
    (void)state;
    cleanup_free char *four = written(write_four, "<µµ&");
    assert_string_equal(four, "&lt;µµ&amp;");
    cleanup_free char *five = written(write_four, "<µµ&x");
    assert_string_equal(five, "&lt;µµ&amp;…");
}

static void write_coordinate(FILE *out, const char *value)
{
    html_coordinate(out, strtod(value, NULL));
}

static void coordinates_are_numbers(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"0", "0"},      {"12.345", "12.35"}, {"-0.001", "0"},       {"100", "100"},
        {"2.50", "2.5"}, {"inf", "1000000"},  {"-1e99", "-1000000"}, {"nan", "0"},
        {"1e-300", "0"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        cleanup_free char *text = written(write_coordinate, pairs[i][0]);
        assert_string_equal(text, pairs[i][1]);
    }
}

static void assert_scale_is_fit(double low, double high, bool logarithmic)
{
    struct scale s = scale_over(low, high, logarithmic);
    assert_true(isfinite(s.low) && isfinite(s.high) && s.low < s.high);
    assert_true(!s.logarithmic || s.low > 0);
    static const double values[] = {-1e300, -1,    0,        1e-300,    1,  5,
                                    1e9,    1e300, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        double at = scale_at(&s, values[i]);
        assert_true(at >= 0 && at <= 1);
    }
    for (size_t wanted = 0; wanted <= SCALE_MAX_TICKS + 1; wanted++) {
        double ticks[SCALE_MAX_TICKS];
        size_t n = scale_ticks(&s, wanted, ticks);
        assert_true(n >= 1 && n <= SCALE_MAX_TICKS);
        for (size_t i = 0; i < n; i++) {
            assert_true(isfinite(ticks[i]));
            assert_true(i == 0 || ticks[i] > ticks[i - 1]);
            double slack = 1e-6 * (s.high - s.low);
            assert_true(ticks[i] >= s.low - slack && ticks[i] <= s.high + slack);
        }
    }
}

static void any_two_numbers_make_an_axis(void **state)
{
    (void)state;
    static const double values[] = {-INFINITY, -1e300, -3, -1e-9, 0,        1e-300, 1e-9, 1,
                                    1.0000001, 31,     99, 1e9,   1.01e100, 1e300,  NAN,  INFINITY};
    size_t n = sizeof values / sizeof values[0];
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            assert_scale_is_fit(values[i], values[k], false);
            assert_scale_is_fit(values[i], values[k], true);
        }
}

static void assert_ticks(double low, double high, bool logarithmic, size_t n,
                         const double *expected)
{
    struct scale s = scale_over(low, high, logarithmic);
    double ticks[SCALE_MAX_TICKS];
    assert_int_equal(scale_ticks(&s, 5, ticks), n);
    for (size_t i = 0; i < n; i++)
        assert_true(fabs(ticks[i] - expected[i]) <= 1e-9 * fabs(expected[i]));
}

static void marks_are_round_numbers(void **state)
{
    (void)state;
    assert_ticks(0, 10, false, 3, (const double[]){0, 5, 10});
    assert_ticks(19000, 19900, false, 5, (const double[]){19000, 19200, 19400, 19600, 19800});
    assert_ticks(1, 25, true, 5, (const double[]){1, 2, 5, 10, 20});
}

static void a_logarithmic_axis_has_equal_steps_for_equal_ratios(void **state)
{
    (void)state;
    struct scale s = scale_over(1, 10000, true);
    assert_true(s.logarithmic && fabs(scale_at(&s, 100) - 0.5) < 1e-12);
    struct scale linear = scale_over(0, 10000, true);
    assert_true(!linear.logarithmic && fabs(scale_at(&linear, 5000) - 0.5) < 1e-12);
    assert_ticks(1, 10000, true, 5, (const double[]){1, 10, 100, 1000, 10000});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_becomes_text),
        cmocka_unit_test(what_xml_does_not_allow_is_replaced),
        cmocka_unit_test(long_text_is_cut_between_characters),
        cmocka_unit_test(coordinates_are_numbers),
        cmocka_unit_test(any_two_numbers_make_an_axis),
        cmocka_unit_test(marks_are_round_numbers),
        cmocka_unit_test(a_logarithmic_axis_has_equal_steps_for_equal_ratios),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
