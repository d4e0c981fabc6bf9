#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grader/task/expr.h"

static const struct expr_scope scope = {
    .names = {"n", "m", "rows_2"},
    .values = {7, -7, INT64_MAX},
    .n = 3,
};

static int evaluate(const char *text, int64_t *ret, kgrade_error *err)
{
    struct expr *expr = NULL;
    if (expr_parse(text, &expr, err))
        return -1;
    int result = expr_eval(expr, &scope, ret, err);
    expr_free(expr);
    return result;
}

static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"0", 0},
        {"9223372036854775807", INT64_MAX},
        {"n", 7},
        {" n + 2*3 ", 13},
        {"(n+2)*3", 27},
        {"10 - 3 - 2", 5},
        {"100 / 7 / 2", 7},
        {"2 * 7 % 5", 4},
        {"n / 2", 3},
        {"m / 2", -4},
        {"m % 2", 1},
        {"n % (0 - 2)", -1},
        {"m / (0 - 2)", 3},
        {"m % (0 - 2)", -1},
        {"n % 7", 0},
        {"min(n, m)", -7},
        {"max(n, m)", 7},
        {"min(max(n, 3), 5) + max(1, 2)", 7},
        {"ceil_div(n, 2)", 4},
        {"ceil_div(m, 2)", -3},
        {"ceil_div(14, n)", 2},
        {"ceil_div(m, 0 - 2)", 4},
        {"rows_2 - 1 + 1", INT64_MAX},
        {"\tn\t", 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = -99;
        kgrade_error err = {.message = ""};
        if (evaluate(cases[i].text, &value, &err) || value != cases[i].value)
            fail_msg("%s gives %lld (%s)", cases[i].text, (long long)value, err.message);
    }
}

static void test_mistakes_point_at_the_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "column 1: the expression ends where a value is expected"},
        {"   ", "column 4: the expression ends"},
        {"n +", "column 4: the expression ends"},
        {"n n", "column 3: an operator or the end"},
        {"(n", "column 3: a closing parenthesis"},
        {"n)", "column 2: an operator or the end"},
        {"-n", "column 1: a number, a name or a parenthesis"},
        {"2n", "column 2: a number is decimal digits only"},
        {"1.5", "column 2: a number is decimal digits only"},
        {"0x10", "column 2: a number is decimal digits only"},
        {"9223372036854775808", "column 1: the number does not fit in 64 bits"},
        {"sqrt(n)", "column 1: there is no such function"},
        {"min(n)", "column 6: a comma"},
        {"min(n, m, 3)", "column 9: a closing parenthesis"},
        {"n ** 2", "column 4: a number, a name or a parenthesis"},
        {"n \xff", "column 3: an operator or the end"},
        {"n / 0", "divides by zero"},
        {"n % (m + n)", "divides by zero"},
        {"ceil_div(n, 0)", "divides by zero"},
        {"rows_2 + 1", "overflows 64 bits"},
        {"rows_2 * 2", "overflows 64 bits"},
        {"0 - rows_2 - 2", "overflows 64 bits"},
        {"(0 - rows_2 - 1) / (0 - 1)", "overflows 64 bits"},
        {"k", "uses \"k\", which is not a dim"},
        {"n + rows_", "uses \"rows_\", which is not a dim"},
        {"rows_22", "uses \"rows_22\", which is not a dim"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = -99;
        kgrade_error err = {.message = ""};
        assert_int_equal(evaluate(cases[i].text, &value, &err), -1);
        assert_string_equal(err.code, "expression_invalid");
        if (!strstr(err.message, cases[i].message))
            fail_msg("%s gives: %s", cases[i].text, err.message);
        assert_int_equal(value, -99);
    }
}

/* depth times "a+b*min(c,": as much unfinished work per level as the grammar allows. */
static char *nested(int depth)
{
    enum { ROOM = 8192 };
    char *text = calloc(1, ROOM);
    assert_non_null(text);
    FILE *out = fmemopen(text, ROOM, "w");
    assert_non_null(out);
    for (int i = 0; i < depth; i++)
        fprintf(out, "1+1*min(9,");
    fprintf(out, "n");
    for (int i = 0; i < depth; i++)
        fprintf(out, ")");
    fclose(out);
    return text;
}

static void test_depth_limit(void **state)
{
    (void)state;
    int64_t value;
    kgrade_error err;
    char *deep = nested(EXPR_MAX_DEPTH - 1), *too_deep = nested(EXPR_MAX_DEPTH);
    assert_int_equal(evaluate(deep, &value, &err), 0);
    assert_int_equal(value, 10);
    assert_int_equal(evaluate(too_deep, &value, &err), -1);
    assert_non_null(strstr(err.message, "nested too deeply"));
    free(deep);
    free(too_deep);
}

static void test_length_limit(void **state)
{
    (void)state;
    int64_t value;
    kgrade_error err;
    char text[EXPR_MAX_LENGTH + 2];
    memset(text, ' ', sizeof text);
    text[0] = 'n';
    text[EXPR_MAX_LENGTH] = 0;
    assert_int_equal(evaluate(text, &value, &err), 0);
    text[EXPR_MAX_LENGTH] = ' ';
    text[EXPR_MAX_LENGTH + 1] = 0;
    assert_int_equal(evaluate(text, &value, &err), -1);
    assert_string_equal(err.code, "expression_invalid");
    assert_non_null(strstr(err.message, "513 characters"));
}

static void test_unknown_names_are_found(void **state)
{
    (void)state;
    struct expr *expr;
    char name[EXPR_MAX_LENGTH + 1];
    assert_int_equal(expr_parse("n + min(zz9, other)", &expr, NULL), 0);
    assert_string_equal(expr_text(expr), "n + min(zz9, other)");
    assert_true(expr_unknown_name(expr, &scope, name));
    assert_string_equal(name, "zz9");
    expr_free(expr);
    assert_int_equal(expr_parse("n / 0", &expr, NULL), 0);
    assert_false(expr_unknown_name(expr, &scope, name));
    expr_free(expr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_mistakes_point_at_the_column),
        cmocka_unit_test(test_depth_limit),
        cmocka_unit_test(test_length_limit),
        cmocka_unit_test(test_unknown_names_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
