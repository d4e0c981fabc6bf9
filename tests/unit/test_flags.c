/* Flags that a candidate asks for: where they may stand, and which are taken. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "grader/build/flags.h"

static const char *const allowed[] = {"-fast", "-count=#", "-D@", NULL};
static const struct device_language language = {"c", "candidate.c", "baseline.c", allowed, false};
static const struct device_language strict = {"c", "candidate.c", "baseline.c", NULL, false};

static int read_one(const char *text, struct flags *ret, kgrade_error *err)
{
    const struct bundle bundle = {.files = {{"a.c", text, strlen(text)}}, .n = 1};
    return flags_read(&language, &bundle, ret, err);
}

static void assert_flags(const char *text, const char *expected)
{
    struct flags flags;
    kgrade_error err = {.code = ""};
    char got[FLAGS_MAX * (FLAGS_MAX_BYTES + 1)] = "";
    if (read_one(text, &flags, &err))
        fail_msg("%s: %s", text, err.message);
    for (size_t i = 0; i < flags.n; i++) {
        strcat(got, i ? " " : "");
        strcat(got, flags.list[i]);
    }
    assert_string_equal(got, expected);
}

static void assert_refused(const char *flag)
{
    char text[256];
    struct flags flags;
    kgrade_error err = {.code = ""};
    snprintf(text, sizeof text, "int x;\n// kgrade-flags: -fast %s\n", flag);
    if (!read_one(text, &flags, &err))
        fail_msg("taken: %s", flag);
    assert_string_equal(err.code, "flag_not_allowed");
    assert_non_null(strstr(err.hint, "-fast -count=# -D@"));
}

static void lines_are_found(void **state)
{
    (void)state;
    assert_flags("", "");
    assert_flags("int x;", "");
    assert_flags("// kgrade-flags:", "");
    assert_flags("// kgrade-flags:\n-fast", "");
    assert_flags("// kgrade-flags: -fast", "-fast");
    assert_flags("// kgrade-flags:-fast\t -count=32 \r\nint x;\n// kgrade-flags: -DX\n",
                 "-fast -count=32 -DX");
    /* Not at the beginning of a line, or not quite the word. */
    assert_flags(" // kgrade-flags: -bad\nx // kgrade-flags: -bad\n//kgrade-flags: -bad\n", "");
}

static void patterns_are_kept(void **state)
{
    (void)state;
    assert_flags("// kgrade-flags: -count=1 -count=9999 -DA -D_b=1 -DTILE=x_2",
                 "-count=1 -count=9999 -DA -D_b=1 -DTILE=x_2");
    static const char *const bad[] = {
        "-slow",     "-fas",   "-faster",  "fast",  "-count=",    "-count=x",  "-count=12345",
        "-count=1x", "-D",     "-D1",      "-D=1",  "-DX=\"a\"",  "-DX=$(id)", "-DX=a/b",
        "-DX;id",    "-I/etc", "-include", "@file", "-fast,-fast"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_refused(bad[i]);
}

static void there_are_limits(void **state)
{
    (void)state;
    char text[2048], flag[FLAGS_MAX_BYTES + 2];
    struct flags flags;
    for (size_t n = FLAGS_MAX; n <= FLAGS_MAX + 1; n++) {
        strcpy(text, "// kgrade-flags:");
        for (size_t i = 0; i < n; i++)
            strcat(text, " -fast");
        assert_int_equal(read_one(text, &flags, NULL), n == FLAGS_MAX ? 0 : -1);
    }
    for (size_t length = FLAGS_MAX_BYTES; length <= FLAGS_MAX_BYTES + 1; length++) {
        memset(flag, 'X', length);
        memcpy(flag, "-D", 2);
        flag[length] = 0;
        snprintf(text, sizeof text, "// kgrade-flags: %s", flag);
        assert_int_equal(read_one(text, &flags, NULL), length == FLAGS_MAX_BYTES ? 0 : -1);
    }
}

static void only_what_is_compiled_counts(void **state)
{
    (void)state;
    static const char line[] = "// kgrade-flags: -fast";
    const struct bundle bundle = {.files = {{"a.h", line, sizeof line - 1},
                                            {"b.c", line, sizeof line - 1},
                                            {"c.c", "int c;", 6}},
                                  .n = 3};
    struct flags flags;
    assert_int_equal(flags_read(&language, &bundle, &flags, NULL), 0);
    assert_int_equal(flags.n, 1);
    assert_int_equal(flags_read(&strict, &bundle, &flags, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_found),
        cmocka_unit_test(patterns_are_kept),
        cmocka_unit_test(there_are_limits),
        cmocka_unit_test(only_what_is_compiled_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
