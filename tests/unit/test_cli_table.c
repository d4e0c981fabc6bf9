#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "grader/cli/cli.h"
#include "grader/cli/compare.h"
#include "grader/cli/view.h"
#include "sandbox/base/cleanup.h"

/* What printing the JSON for people puts on standard output. */
static char *printed(void (*print)(const json_t *), const char *text)
{
    json_error_t where;
    json_auto_t *json = json_loads(text, JSON_DECODE_ANY, &where);
    if (!json)
        fail_msg("%s at %d", where.text, where.position);
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_true(saved >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0);
    print(json);
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    char *out = calloc(1, 65536);
    assert_non_null(out);
    rewind(file);
    out[fread(out, 1, 65535, file)] = 0;
    fclose(file);
    return out;
}

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is missing in:\n%s", part, text);
}

static void test_an_accepted_grade(void **state)
{
    (void)state;
    cleanup_free char *text = printed(
        table_print_result,
        "{\"task\": {\"name\": \"matmul\"}, \"device\": \"opencl\", \"verdict\": \"accepted\", "
        "\"reason\": null,"
        " \"score\": 1.0534, \"cases\": [{\"kind\": \"benchmark\", \"dims\": {\"m\": 512, \"n\": "
        "256},"
        " \"correctness\": {\"pass\": true}, \"device_time\": {\"median_ns\": 19400, \"p10_ns\": "
        "19100,"
        " \"p90_ns\": 19900, \"stderr_ns\": 52, \"samples\": 120, \"void_samples\": 2, "
        "\"floor_ns\": 1200,"
        " \"resolution_ns\": 1, \"cache\": \"warm\", \"stopped\": \"precision\"},"
        " \"baseline\": {\"median_ns\": 20400}, \"speedup\": {\"value\": 1.0534, \"low\": 1.049,"
        " \"high\": 1.06, \"confidence\": 0.95}, \"host_overhead\": {\"cold_ns\": 120000, "
        "\"warm_ns\": 3000},"
        " \"roofline\": {\"fraction\": 0.41, \"bound\": \"memory\"}}],"
        " \"environment\": {\"hardware\": \"a processor\", \"driver\": \"a driver\", "
        "\"isolation\": \"full\"},"
        " \"steps\": {\"build_ms\": 560, \"record_ms\": 12.5}}");
    assert_contains(text, "ACCEPTED  score 1.053  matmul on opencl\n");
    assert_contains(text, "speedup (95 %)");
    assert_contains(
        text, "benchmark  m=512 n=256    yes  19.40 µs ± 0.052  19.10–19.90 µs  120 (+2 void)"
              "  20.40 µs  1.053 (1.049–1.060)  3.000 µs (first 120.0 µs)  41.0 % of memory\n");
    assert_contains(
        text, "cache warm, floor 1.200 µs, resolution 1.000 ns, sampling ended by precision\n");
    assert_contains(text, "a processor, a driver, isolation full\n");
    assert_contains(text, "build 560.0 ms, record 12.50 ms\n");
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, "code "));
}

static void test_a_wrong_answer_says_where_and_what(void **state)
{
    (void)state;
    cleanup_free char *text =
        printed(table_print_result,
                "{\"verdict\": \"wrong_answer\", \"score\": 0, \"reason\": {\"code\": \"mismatch\","
                " \"message\": \"It differs\\u001b[2J.\", \"hint\": \"Look\\nhere.\", \"log\": "
                "\"one\\ntwo\","
                " \"retryable\": false}, \"cases\": [{\"kind\": \"hidden\", \"dims\": null, "
                "\"correctness\":"
                " {\"pass\": false, \"parameter\": \"c\", \"unwritten\": 2, \"worst\": {\"error\": "
                "0.5, \"index\": 7, \"expected\": 1.5, "
                "\"got\": null},"
                " \"norm\": 0.25, \"bad\": 12, \"nan\": 3}}]}");
    assert_contains(text, "WRONG ANSWER  score 0.000\n");
    assert_contains(text, "  It differs?[2J.\n  code mismatch\n");
    assert_contains(text, "  What to do:\n  Look\n  here.\n");
    assert_contains(text, "  Log:\n  | one\n  | two\n");
    assert_contains(text, "hidden: worst element 7 of c: expected 1.5, got NaN or infinity, error "
                          "0.5; 12 wrong; 3 not a number; 2 never written;"
                          " relative norm of the error 0.25\n");
}

static void test_whether_to_try_again(void **state)
{
    (void)state;
    cleanup_free char *again =
        printed(table_print_result, "{\"verdict\": \"infrastructure_error\", \"reason\":"
                                    " {\"code\": \"spawner_failed\", \"retryable\": true}}");
    assert_contains(again, "code spawner_failed; trying again may help\n");
    cleanup_free char *not_again =
        printed(table_print_result, "{\"verdict\": \"infrastructure_error\", \"reason\":"
                                    " {\"code\": \"no_compiler\", \"retryable\": false}}");
    assert_contains(not_again, "code no_compiler; trying again will not help\n");
    cleanup_free char *hostile = printed(
        table_print_result, "{\"verdict\": \"a\\u001b[2Jb\", \"cases\": [{\"kind\": "
                            "\"\\u001b[2J\", \"dims\": {\"\\u001b[2J\": 1}, \"correctness\": "
                            "{\"pass\": false, \"parameter\": \"\\u001b[2J\", \"worst\": "
                            "{\"index\": 1}}}]}");
    assert_null(strchr(hostile, '\033'));
    assert_contains(hostile, "A?[2JB\n");
}

/* A newer library may send more, an older one less. */
static void test_nothing_is_taken_for_granted(void **state)
{
    (void)state;
    static const char *const examples[] = {
        "{}",
        "[]",
        "null",
        "{\"verdict\": 3, \"score\": \"x\", \"cases\": 7, \"steps\": [], \"environment\": 1, "
        "\"reason\": []}",
        "{\"verdict\": \"accepted\", \"cases\": [null, 3, {}, {\"dims\": 4, \"speedup\": {}}], "
        "\"steps\": {\"x\": 1}}",
        "{\"cases\": [{\"device_time\": {\"median_ns\": 5}, \"correctness\": {\"pass\": false, "
        "\"worst\": null}}]}",
        "{\"cases\": [{\"correctness\": {\"pass\": false, \"worst\": {\"index\": [1, 2]}}, "
        "\"dims\": {\"n\": null}}]}",
        "{\"tasks\": [null, {}, {\"name\": 3}], \"findings\": [null, \"text\", {}], \"params\": "
        "[null, {}],"
        " \"cases\": {\"a\": 3, \"b\": [{}]}, \"tolerance\": {\"f32\": null}, \"ready\": null, "
        "\"devices\": [{}, 3]}",
    };
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        static void (*const prints[])(const json_t *) = {table_print_result, describe_tasks,
                                                         describe_task, describe_doctor};
        for (size_t k = 0; k < sizeof prints / sizeof prints[0]; k++) {
            cleanup_free char *text = printed(prints[k], examples[i]);
            assert_true(strlen(text) > 0);
        }
        cleanup_free char *recording = printed(describe_recording, examples[i]);
        assert_non_null(recording);
    }
}

static void test_paths_into_json(void **state)
{
    (void)state;
    json_auto_t *json =
        json_loads("{\"a\": {\"b\": {\"c\": 3, \"s\": \"\", \"n\": null}}}", 0, NULL);
    assert_int_equal(view_number(json, "a.b.c"), 3);
    assert_null(view_at(json, "a.x.c"));
    assert_null(view_at(json, "a.b.n"));
    assert_null(view_at(NULL, "a"));
    assert_null(view_string(json, "a.b.s"));
    char path[200];
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = 0;
    assert_null(view_at(json, path));
}

#define RATIO(value) "\"ratio\": {\"value\": " value ", \"low\": 0.9, \"high\": 2.5}"

static void test_a_comparison(void **state)
{
    (void)state;
    cleanup_free char *text = printed(
        compare_print,
        "{\"verdict\": \"unresolved\", \"reason\": null, \"kernel\": {\"margin\": 0.05, " RATIO(
            "1.25") ", \"cases\": [{\"dims\": {\"n\": 64}, \"a_ns\": 2000, \"b_ns\": 1000, "
                    "\"doubt\": \"odd \\u001b stamps\", " RATIO(
                        "2") "}]}, \"launch_path\": {\"margin\": 0.1, \"a_ns\": 3000, "
                             "\"b_ns\": 2500, \"dims\": {\"n\": 64}, \"doubt\": \"too "
                             "busy\", " RATIO("1.2") "}}");
    assert_contains(text, "B against A: unresolved\n");
    assert_contains(text, "kernel, n=64       2.000 \302\265s  1.000 \302\265s  2.000");
    assert_contains(text,
                    "kernel, all cases                      1.250  0.900\342\200\2232.500     5 %");
    assert_contains(text, "launch path        3.000 \302\265s  2.500 \302\265s  1.200");
    assert_contains(text, "in doubt: odd ? stamps\n");
    assert_contains(text, "in doubt: too busy\n");
    cleanup_free char *failed = printed(
        compare_print, "{\"verdict\": null, \"reason\": {\"verdict\": \"build_failed\", \"code\": "
                       "\"compile_failed\", \"message\": \"No.\", \"hint\": \"Do.\", \"log\": "
                       "\"line\"}}");
    assert_contains(failed, "Not compared: No. [compile_failed]\n");
    assert_contains(failed, "  | line\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_comparison),
        cmocka_unit_test(test_an_accepted_grade),
        cmocka_unit_test(test_a_wrong_answer_says_where_and_what),
        cmocka_unit_test(test_whether_to_try_again),
        cmocka_unit_test(test_nothing_is_taken_for_granted),
        cmocka_unit_test(test_paths_into_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
