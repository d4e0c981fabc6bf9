#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grader/cli/grid.h"
#include "grader/cli/text.h"
#include "sandbox/base/cleanup.h"

static void test_times_have_a_fitting_unit(void **state)
{
    (void)state;
    assert_string_equal(text_time(0).text, "0.000 ns");
    assert_string_equal(text_time(872).text, "872.0 ns");
    assert_string_equal(text_time(999.94).text, "999.9 ns");
    assert_string_equal(text_time(999.96).text, "1.000 µs");
    assert_string_equal(text_time(19400).text, "19.40 µs");
    assert_string_equal(text_time(9.99996e3).text, "10.00 µs");
    assert_string_equal(text_time(1234567).text, "1.235 ms");
    assert_string_equal(text_time(2.5e9).text, "2.500 s");
    assert_string_equal(text_time(7.2e12).text, "7200.0 s");
    assert_string_equal(text_time(-1500).text, "-1.500 µs");
    assert_string_equal(text_time(NAN).text, "-");
    assert_string_equal(text_time(INFINITY).text, "-");
}

static void test_errors_and_ranges_share_the_unit(void **state)
{
    (void)state;
    assert_string_equal(text_time_error(19400, 52).text, "19.40 µs ± 0.052");
    assert_string_equal(text_time_error(19400, 520).text, "19.40 µs ± 0.52");
    assert_string_equal(text_time_error(19400, 5200).text, "19.40 µs ± 5.2");
    assert_string_equal(text_time_error(19400, 52000).text, "19.40 µs ± 52");
    assert_string_equal(text_time_error(19400, NAN).text, "19.40 µs");
    assert_string_equal(text_time_error(NAN, 5).text, "-");
    assert_string_equal(text_time_range(999, 1001).text, "0.999–1.001 µs");
    assert_string_equal(text_time_range(NAN, 1001).text, "-");
    assert_string_equal(text_time_tick(19400).text, "19.4 µs");
    assert_string_equal(text_time_tick(0).text, "0 ns");
    assert_string_equal(text_time_tick(INFINITY).text, "-");
    assert_string_equal(text_scaled(1.82e10, "B/s").text, "18.2 GB/s");
    assert_string_equal(text_scaled(12, "op").text, "12 op");
    assert_string_equal(text_scaled(999960, "B").text, "1 MB");
    assert_string_equal(text_scaled(NAN, "B").text, "-");
}

static void test_width_counts_characters(void **state)
{
    (void)state;
    assert_int_equal(text_width(""), 0);
    assert_int_equal(text_width("µs ± 1"), 6);
}

static void test_nearest(void **state)
{
    (void)state;
    static const char *const words[] = {"grade",      "tasks",  "show", "new",
                                        "check-task", "doctor", NULL};
    assert_string_equal(text_nearest("grad", words), "grade");
    assert_string_equal(text_nearest("garde", words), "grade");
    assert_string_equal(text_nearest("task", words), "tasks");
    assert_string_equal(text_nearest("check", words), "check-task");
    assert_string_equal(text_nearest("doktor", words), "doctor");
    assert_string_equal(text_nearest("nwe", words), "new");
    assert_null(text_nearest("frobnicate", words));
    assert_null(text_nearest("", words));
    char longer[400];
    memset(longer, 'g', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_null(text_nearest(longer, words));
}

static char *printed(void (*print)(FILE *, const char *), const char *text)
{
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    assert_non_null(f);
    print(f, text);
    fclose(f);
    return out;
}

static void with_indent(FILE *f, const char *text)
{
    text_print_foreign(f, "| ", text);
}

/* A log is written by a candidate's author: it may hold anything. */
static void test_foreign_text_cannot_steer_the_terminal(void **state)
{
    (void)state;
    static const struct {
        const char *text, *lines, *line;
    } examples[] = {
        {"", "", ""},
        {"a\nb\n", "| a\n| b\n", "a b "},
        {"a\n\nb", "| a\n| \n| b\n", "a  b"},
        {"x\033[31mred", "| x?[31mred\n", "x?[31mred"},
        {"x\033]0;title\007y", "| x?]0;title?y\n", "x?]0;title?y"},
        {"a\tb\rc\x7f", "| a\tb?c?\n", "a b?c?"},
        {"µ ± – ok", "| µ ± – ok\n", "µ ± – ok"},
        {"c1 \xC2\x9B"
         "31m",
         "| c1 ?31m\n", "c1 ?31m"},
        {"raw \x9B"
         "31m",
         "| raw ?31m\n", "raw ?31m"},
        {"cut \xE2\x80", "| cut ??\n", "cut ??"},
        {"cut \xF0", "| cut ?\n", "cut ?"},
    };
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        cleanup_free char *lines = printed(with_indent, examples[i].text);
        cleanup_free char *line = printed(text_print_inline, examples[i].text);
        assert_string_equal(lines, examples[i].lines);
        assert_string_equal(line, examples[i].line);
    }
}

static void test_no_colour_without_a_terminal(void **state)
{
    (void)state;
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_string_equal(text_colour(f, TEXT_RED), "");
    assert_int_equal(text_terminal_columns(f), 0);
    fclose(f);
}

static char *grid_text(const struct grid *grid, unsigned columns)
{
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    assert_non_null(f);
    grid_print(grid, f, columns);
    fclose(f);
    return out;
}

static void test_grid(void **state)
{
    (void)state;
    struct grid grid = {.left = 1};
    grid_set(&grid, 0, "case");
    grid_set(&grid, 1, "time");
    grid_set(&grid, 2, "never");
    grid_set(&grid, 3, "right");
    grid_next_row(&grid);
    grid_set(&grid, 0, "first");
    grid_set(&grid, 1, "%d µs", 12);
    grid_set(&grid, 3, "yes");
    grid_next_row(&grid);
    grid_set(&grid, 0, "second");
    cleanup_free char *wide = grid_text(&grid, 0);
    assert_string_equal(wide, "  case     time  right\n"
                              "  first   12 µs    yes\n"
                              "  second\n");
    cleanup_free char *narrow = grid_text(&grid, 10);
    assert_string_equal(narrow, "  case   first\n"
                                "  time   12 µs\n"
                                "  right  yes\n"
                                "\n"
                                "  case   second\n");
    grid_free(&grid);
}

static void test_grid_leaves_out_what_is_beyond_its_limits(void **state)
{
    (void)state;
    struct grid grid = {.left = 1};
    grid_set(&grid, 0, "n");
    grid_set(&grid, GRID_MAX_COLUMNS, "lost");
    for (int i = 1; i < 2 * GRID_MAX_ROWS; i++) {
        grid_next_row(&grid);
        grid_set(&grid, 0, "%d", i);
    }
    cleanup_free char *text = grid_text(&grid, 0);
    size_t lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, GRID_MAX_ROWS);
    assert_null(strstr(text, "lost"));
    grid_free(&grid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_have_a_fitting_unit),
        cmocka_unit_test(test_errors_and_ranges_share_the_unit),
        cmocka_unit_test(test_width_counts_characters),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_foreign_text_cannot_steer_the_terminal),
        cmocka_unit_test(test_no_colour_without_a_terminal),
        cmocka_unit_test(test_grid),
        cmocka_unit_test(test_grid_leaves_out_what_is_beyond_its_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
