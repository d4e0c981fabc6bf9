/* Sources of several files: what is taken, what is not, and that their order does not matter. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grader/build/bundle.h"
#include "sandbox/base/cleanup.h"

static const struct device_language cuda = {"cuda", "candidate.cu", "baseline.cuda.cu", NULL,
                                            false};

static void assert_refused(const char *source, const char *code)
{
    struct bundle bundle;
    kgrade_error err = {.code = ""};
    if (!bundle_open(&cuda, source, strlen(source), &bundle, &err))
        fail_msg("taken: %s", source);
    assert_string_equal(err.code, code);
}

static void a_single_file_stays_one(void **state)
{
    (void)state;
    static const char source[] = "{ not a bundle }";
    cleanup_bundle struct bundle bundle = {.json = NULL};
    assert_int_equal(bundle_open(&cuda, source, sizeof source - 1, &bundle, NULL), 0);
    assert_int_equal(bundle.n, 1);
    assert_string_equal(bundle.files[0].name, "candidate.cu");
    assert_ptr_equal(bundle.files[0].text, source);
    assert_int_equal(bundle.files[0].size, sizeof source - 1);
}

static void files_come_back(void **state)
{
    (void)state;
    const kgrade_file files[] = {
        {"b.cu", "int b;", 6}, {"a.cuh", "\"\\\xe2\x82\xac", 5}, {"empty", "", 0}};
    const kgrade_file other[] = {files[2], files[0], files[1]};
    cleanup_free char *source = NULL, *again = NULL;
    kgrade_error err;
    assert_int_equal(kgrade_bundle(files, 3, &source, &err), 0);
    assert_int_equal(kgrade_bundle(other, 3, &again, &err), 0);
    assert_string_equal(source, again);

    cleanup_bundle struct bundle bundle = {.json = NULL};
    assert_int_equal(bundle_open(&cuda, source, strlen(source), &bundle, &err), 0);
    assert_int_equal(bundle.n, 3);
    size_t found = 0;
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++)
            if (!strcmp(bundle.files[i].name, files[j].name)) {
                assert_int_equal(bundle.files[i].size, files[j].size);
                assert_memory_equal(bundle.files[i].text, files[j].text, files[j].size);
                assert_int_equal(bundle_is_source(&cuda, &bundle.files[i]), j == 0);
                found++;
            }
    assert_int_equal(found, 3);
}

static void what_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{\"files\":",
        "{\"files\":[]}",
        "{\"files\":\"a.cu\"}",
        "{\"files\":{\"a.cu\":1}}",
        "{\"files\":{\"a.cu\":\"\"},\"more\":1}",
        "{\"files\":{\"a.cu\":\"\",\"a.cu\":\"\"}}",
        "{\"files\":{\"\":\"\"}}",
        "{\"files\":{\".\":\"\"}}",
        "{\"files\":{\"..\":\"\"}}",
        "{\"files\":{\".a.cu\":\"\"}}",
        "{\"files\":{\"-o.cu\":\"\"}}",
        "{\"files\":{\"a/b.cu\":\"\"}}",
        "{\"files\":{\"/a.cu\":\"\"}}",
        "{\"files\":{\"a b.cu\":\"\"}}",
        "{\"files\":{\"a\\u00e9.cu\":\"\"}}",
        "{\"files\":{\"a\\ncu\":\"\"}}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_refused(bad[i], "bad_bundle");
    assert_refused("{\"files\":{}}", "no_source_file");
    assert_refused("{\"files\":{\"a.c\":\"\",\"b.cuh\":\"\",\"cu\":\"\",\"c.cu.h\":\"\"}}",
                   "no_source_file");
}

static void names_have_a_limit(void **state)
{
    (void)state;
    char source[256], name[BUNDLE_MAX_NAME + 2];
    for (size_t length = BUNDLE_MAX_NAME; length <= BUNDLE_MAX_NAME + 1; length++) {
        memset(name, 'x', length);
        memcpy(name + length - 3, ".cu", 4);
        snprintf(source, sizeof source, "{\"files\":{\"%s\":\"\"}}", name);
        cleanup_bundle struct bundle bundle = {.json = NULL};
        int result = bundle_open(&cuda, source, strlen(source), &bundle, NULL);
        assert_int_equal(result, length == BUNDLE_MAX_NAME ? 0 : -1);
    }
}

static void files_have_a_limit(void **state)
{
    (void)state;
    kgrade_file files[BUNDLE_MAX_FILES + 1];
    char names[BUNDLE_MAX_FILES + 1][16];
    for (size_t i = 0; i <= BUNDLE_MAX_FILES; i++) {
        snprintf(names[i], sizeof names[i], "%zu.cu", i);
        files[i] = (kgrade_file){names[i], "", 0};
    }
    for (size_t n = BUNDLE_MAX_FILES; n <= BUNDLE_MAX_FILES + 1; n++) {
        cleanup_free char *source = NULL;
        cleanup_bundle struct bundle bundle = {.json = NULL};
        assert_int_equal(kgrade_bundle(files, n, &source, NULL), 0);
        int result = bundle_open(&cuda, source, strlen(source), &bundle, NULL);
        assert_int_equal(result, n == BUNDLE_MAX_FILES ? 0 : -1);
    }
}

static void what_cannot_be_text_is_refused(void **state)
{
    (void)state;
    const kgrade_file twice[] = {{"a.cu", "", 0}, {"a.cu", "", 0}}, binary = {"a.cu", "\xff", 1},
                      badly_called = {"\xff.cu", "", 0};
    char *source = NULL;
    kgrade_error err;
    assert_int_equal(kgrade_bundle(twice, 2, &source, &err), -1);
    assert_string_equal(err.code, "bad_bundle");
    assert_int_equal(kgrade_bundle(&binary, 1, &source, &err), -1);
    assert_string_equal(err.code, "source_not_utf8");
    assert_int_equal(kgrade_bundle(&badly_called, 1, &source, &err), -1);
    assert_string_equal(err.code, "bad_bundle");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_file_stays_one), cmocka_unit_test(files_come_back),
        cmocka_unit_test(what_is_none_is_refused), cmocka_unit_test(names_have_a_limit),
        cmocka_unit_test(files_have_a_limit),      cmocka_unit_test(what_cannot_be_text_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
