/* What the server writes: fields of the log, problems. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#undef fail /* cmocka's, which is not used here */
#include "sandbox/base/fail.h"
#include "server/http/problem.h"
#include "server/log.h"

static void test_log_field(void **state)
{
    (void)state;
    char field[32];
    assert_string_equal(log_field(field, sizeof field, NULL), "-");
    assert_string_equal(log_field(field, sizeof field, ""), "-");
    assert_string_equal(log_field(field, sizeof field, "/tasks?a=1"), "/tasks?a=1");
    assert_string_equal(log_field(field, sizeof field, "a b\n\"\\\x7f\xff"),
                        "a\\x20b\\x0a\\x22\\x5c\\x7f\\xff");
    assert_string_equal(log_field(field, 8, "abcdefghijk"), "abcdefg");
    assert_string_equal(log_field(field, 8, "abcd\nfgh"), "abcd");
    assert_string_equal(log_field(field, 1, "abc"), "");
}

/* The detail that a message comes out as. */
static void assert_detail(const char *message, const char *expected)
{
    kgrade_error e;
    fail(&e, "unknown_task", NULL, "%s", message);
    char *text = problem_json(&e);
    assert_non_null(text);
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(json, "detail")), expected);
    assert_int_equal(json_integer_value(json_object_get(json, "status")), 404);
    assert_null(json_object_get(json, "hint"));
    json_decref(json);
    free(text);
}

static void test_mended(void **state)
{
    (void)state;
    assert_detail("plain", "plain");
    assert_detail("\xe2\x82\xac and \xf0\x9f\x98\x80", "\xe2\x82\xac and \xf0\x9f\x98\x80");
    assert_detail("cut \xe2\x82\".", "cut ??\".");
    assert_detail("\xe2\x82\xac\xe2\x82", "\xe2\x82\xac??");
    assert_detail("\xff\xc0\xaf\xed\xa0\x80\x80", "???????");
    assert_detail("\xf0\x9f\x98", "???");
    assert_detail("\xe2", "?");
}

static void test_long(void **state)
{
    (void)state;
    char message[2000];
    for (size_t i = 0; i + 3 < sizeof message; i += 3)
        memcpy(message + i, "\xe2\x82\xac", 4);
    kgrade_error e;
    fail(&e, "unknown_task", message, "%s", message);
    char *text = problem_json(&e);
    assert_non_null(text);
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    assert_true(strlen(json_string_value(json_object_get(json, "detail"))) > 1000);
    assert_true(strlen(json_string_value(json_object_get(json, "hint"))) > 500);
    json_decref(json);
    free(text);
}

static void test_unknown_code(void **state)
{
    (void)state;
    kgrade_error e;
    fail(&e, "spawner_failed", "Try again.", "The spawner is gone.");
    char *text = problem_json(&e);
    assert_string_equal(
        text, "{\"type\":\"urn:kgrade:problem:spawner_failed\",\"title\":\"Internal Server Error\","
              "\"status\":500,\"detail\":\"The spawner is gone.\",\"code\":\"spawner_failed\","
              "\"hint\":\"Try again.\"}");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_log_field),
                                       cmocka_unit_test(test_mended), cmocka_unit_test(test_long),
                                       cmocka_unit_test(test_unknown_code)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
