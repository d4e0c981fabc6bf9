/* The whole page, and the file that it is written to. */
#define _GNU_SOURCE
#include "report_help.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "grader/cli/report/report.h"
#include "sandbox/base/cleanup.h"

#define CASE_OF(kind, dims, more)                                                                  \
    "{\"kind\": \"" kind "\", \"dims\": {\"n\": " dims "}, \"correctness\": {\"pass\": true, "     \
    "\"judged_samples\": 3}, \"host_overhead\": {\"scored\": false, \"cold_ns\": 595000000, "      \
    "\"warm_ns\": 19979.5, \"warm_p90_ns\": 35884.9, \"calls\": 20}" more "}"

static const char
    result_text[] = "{\"schema\": \"kgrade.grade/1\", \"id\": "
                    "\"1e1329ebef46546ca55f1d51579fdbfa\", "
                    "\"graded_at\": \"2030-01-02T03:04:05Z\", \"task\": {\"name\": \"vector_add\", "
                    "\"hash\": "
                    "\"ae\"}, \"candidate\": {\"hash\": \"14\", \"language\": \"c\", \"bytes\": "
                    "1852}, "
                    "\"device\": \"opencl\", \"verdict\": \"suspect\", \"score\": 0, \"scored\": "
                    "\"device_time\", "
                    "\"reason\": {\"code\": \"clocks_disagree\", \"message\": \"They disagree.\", "
                    "\"hint\": "
                    "\"Look.\", \"log\": \"one\\ntwo\", \"retryable\": false}, \"advice\": "
                    "\"Launch-bound & slow.\", \"cases\": "
                    "[" CASE_OF(
                        "correctness", "31",
                        "") ", {\"kind\": \"correctness\", \"dims\": {\"n\": 32}, "
                            "\"correctness\": {\"pass\": false, \"judged_samples\": 1, "
                            "\"parameter\": \"c\", \"count\": "
                            "32, \"bad\": 1, \"nan\": 1, \"unwritten\": 0, \"norm\": 0.5, "
                            "\"worst\": {\"index\": 8, "
                            "\"error\": null, \"expected\": 1.5, \"got\": null}, \"around\": "
                            "{\"first\": 7, "
                            "\"expected\": [0.25, 1.5, 3], \"got\": [0.25, null, 3.5]}}}, " CASE_OF(
                                "benchmark", "1024",
                                ", \"device_time\": " SERIES("19100, 19300, 19400, 19500, 19900") ", \"baseline\": " SERIES(
                                    "20100, 20300, 20400, 20500, 20900") ", \"speedup\": "
                                                                         "{\"value\": 1.0534, "
                                                                         "\"low\": "
                                                                         "1.049, \"high\": 1.06, "
                                                                         "\"confidence\": 0.95}, "
                                                                         "\"roofline\": "
                                                                         "{\"fraction\": 0.41, "
                                                                         "\"bound\": "
                                                                         "\"memory\", \"bytes\": "
                                                                         "12288, \"operations\": "
                                                                         "1024, "
                                                                         "\"memory_bytes_per_s\": "
                                                                         "1.8e10, "
                                                                         "\"cache_bytes_per_s\": "
                                                                         "9e10, "
                                                                         "\"operations_per_s\": "
                                                                         "2e11}") "], "
                                                                                  "\"environment\":"
                                                                                  " {\"kgrade\": "
                                                                                  "\"0.1.0\", "
                                                                                  "\"isolation\": "
                                                                                  "\"full\", "
                                                                                  "\"host\": "
                                                                                  "{\"cpu\": "
                                                                                  "\"a\", "
                                                                                  "\"cpus\": 2}, "
                                                                                  "\"hardware\": "
                                                                                  "\"h\", "
                                                                                  "\"driver\": "
                                                                                  "\"d\"}, "
                                                                                  "\"steps\": "
                                                                                  "{\"build_ms\": "
                                                                                  "56.5, "
                                                                                  "\"total_ms\": "
                                                                                  "1200}}";

static const char recording_text[] =
    "{\"format\": 1, \"device\": \"opencl\", \"task\": \"vector_add\", \"calls\": [{\"dims\": "
    "[1024], \"nodes\": [{\"kind\": \"kernel\", \"name\": \"add\", \"grid\": [1024, 0, 0], "
    "\"block\": [0, 0, 0], \"shared_bytes\": 0, \"args\": [{}, {}, {}]}, {\"kind\": \"fill\", "
    "\"bytes\": 64, \"rows\": 2}, {\"kind\": \"kernel\", \"name\": \"last\", \"grid\": [4, 3, 1], "
    "\"block\": [128, 1, 1], \"shared_bytes\": 96, \"args\": [{}], \"resources\": {\"registers\": "
    "32}}], \"edges\": [[0, 1, 0, 0, 0], [1, 2, 0, 0, 0], [0, 2, 0, 0, 0]]}]}";

static void a_page_says_what_the_result_says(void **state)
{
    (void)state;
    json_auto_t *result = parsed(result_text), *recording = parsed(recording_text);
    cleanup_free char *page = report_page(result, recording);
    assert_non_null(page);
    assert_well_formed(page);
    static const char *const parts[] = {
        "<h1>Suspect</h1>",
        "They disagree.",
        "Look.",
        "<code>clocks_disagree</code>",
        "trying again will not help",
        "<pre>one\ntwo</pre>",
        ">NO</td>",
        "worst element 8 of c: expected 1.5, got NaN or infinity; 1 wrong; 1 not a number; rel",
        "number; relative norm of the error 0.5</p>",
        "<tr class=\"worst\"><th scope=\"row\">8</th><td>1.5</td><td>NaN or ∞</td><td></td></tr>",
        "<tr><th scope=\"row\">9</th><td>3</td><td>3.5</td><td>0.5</td></tr>",
        ">19.40 µs ± 0.052</td>",
        ">1.053 (1.049–1.060)</td>",
        ">19.98 µs (first 595.0 ms)</td>",
        ">41.0 % of memory</td>",
        "<h2>Host overhead</h2>\n<p>Launch-bound &amp; slow.</p>",
        "build 56.50 ms, total 1.200 s",
        "cpu=a cpus=2",
        "<code>add</code><span class=\"dim\">grid 1024 work-items · block chosen",
        "block chosen by the runtime · 3 arguments</span>",
        "<code>fill</code><span class=\"dim\">128 B</span><span class=\"after\">after 0</span>",
        "grid 4 × 3 work-items · block 128 · 96 bytes shared · 1 argument · registers=32",
        "<span class=\"after\">after 1, 0</span>",
        "benchmark n=1024 <span class=\"dim\">3 nodes</span>",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        assert_contains(page, parts[i]);
    assert_int_equal(count(page, "class=\"leads\""), 2);
}

static void without_a_recording_there_is_no_graph(void **state)
{
    (void)state;
    json_auto_t *result = parsed(result_text);
    cleanup_free char *page = report_page(result, NULL);
    assert_well_formed(page);
    assert_null(strstr(page, "Recorded graph"));
}

/* Puts `with` in the place of the value number `at`, counted through the whole document; false: there are fewer. */
static bool replace(json_t *json, size_t *at, json_t *with)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(json, next, key, value)
    {
        if ((*at)-- == 0)
            return json_object_set(json, key, with) == 0;
        if (replace(value, at, with))
            return true;
    }
    for (size_t i = 0; i < json_array_size(json); i++) {
        if ((*at)-- == 0)
            return json_array_set(json, i, with) == 0;
        if (replace(json_array_get(json, i), at, with))
            return true;
    }
    return false;
}

static void nothing_in_a_result_or_recording_breaks_the_page(void **state)
{
    (void)state;
    static const char *const values[] = {"null",
                                         "true",
                                         "0",
                                         "-1",
                                         "1e308",
                                         "-1e308",
                                         "9223372036854775807",
                                         "[]",
                                         "{}",
                                         "\"</style><script>alert(1)</script>&]]>\\u001b\\\"'\"",
                                         "[[[1]]]",
                                         "{\"\\\"><script>\": \"<img src=x onerror=alert(1)>\"}"};
    size_t pages = 0;
    for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
        json_auto_t *with = parsed(values[v]);
        for (size_t place = 0;; place++) {
            json_auto_t *result = parsed(result_text), *recording = parsed(recording_text);
            size_t at = place;
            if (!replace(result, &at, with) && !replace(recording, &at, with))
                break;
            cleanup_free char *page = report_page(result, recording);
            assert_non_null(page);
            assert_well_formed(page);
            pages++;
        }
        cleanup_free char *page = report_page(with, with);
        assert_well_formed(page);
    }
    assert_true(pages > 1000);
}

static json_t *large_recording(size_t calls, size_t nodes, size_t edges)
{
    json_t *list = json_array();
    for (size_t c = 0; c < calls; c++) {
        json_t *of_call = json_array(), *arrows = json_array();
        for (size_t i = 0; i < nodes; i++)
            json_array_append_new(of_call, json_pack("{s:s, s:s}", "kind", "kernel", "name", "k"));
        for (size_t i = 0; i < edges; i++)
            json_array_append_new(arrows, json_pack("[i, i]", (int)i, (int)REPORT_MAX_NODES - 1));
        json_array_append_new(list, json_pack("{s:[i], s:o, s:o}", "dims", (int)c, "nodes", of_call,
                                              "edges", arrows));
    }
    return json_pack("{s:o}", "calls", list);
}

static void what_is_too_much_is_counted_instead(void **state)
{
    (void)state;
    json_auto_t *result = json_object();
    json_auto_t *fits = large_recording(REPORT_MAX_CALLS, REPORT_MAX_NODES, REPORT_MAX_EDGES);
    cleanup_free char *whole = report_page(result, fits);
    assert_null(strstr(whole, "not shown"));
    assert_null(strstr(whole, " more</span>"));
    json_auto_t *more =
        large_recording(REPORT_MAX_CALLS + 2, REPORT_MAX_NODES + 3, REPORT_MAX_EDGES + 4);
    cleanup_free char *page = report_page(result, more);
    assert_contains(page, "2 more calls are not shown.");
    assert_contains(page, "3 more nodes are not shown.");
    assert_contains(page, " and 4 more</span>");
    assert_int_equal(count(page, "<li"), REPORT_MAX_CALLS * REPORT_MAX_NODES);
    assert_well_formed(page);

    char name[REPORT_MAX_NAME + 2];
    memset(name, 'k', sizeof name);
    name[REPORT_MAX_NAME + 1] = 0;
    json_auto_t *named =
        json_pack("{s:[{s:[{s:s, s:s}]}]}", "calls", "nodes", "kind", "kernel", "name", name);
    cleanup_free char *cut = report_page(result, named);
    assert_contains(cut, "kkk…</code>");
    name[REPORT_MAX_NAME] = 0;
    json_auto_t *short_enough =
        json_pack("{s:[{s:[{s:s, s:s}]}]}", "calls", "nodes", "kind", "kernel", "name", name);
    cleanup_free char *uncut = report_page(result, short_enough);
    assert_null(strstr(uncut, "…"));
}

static void a_page_is_a_new_file(void **state)
{
    (void)state;
    char folder[] = "/tmp/kgrade-report-XXXXXX", path[64], nowhere[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/page.html", folder);
    snprintf(nowhere, sizeof nowhere, "%s/none/page.html", folder);
    json_auto_t *result = parsed(result_text);
    kgrade_error error = {0};
    assert_int_equal(report_check(path, &error), 0);
    assert_int_equal(report_write(path, result, NULL, &error), 0);
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(report_check(path, &error), -1);
    assert_string_equal(error.code, "file_exists");
    assert_int_equal(report_write(path, result, NULL, &error), -1);
    assert_string_equal(error.code, "file_exists");
    assert_int_equal(report_check(nowhere, &error), -1);
    assert_string_equal(error.code, "file_unwritable");
    assert_int_equal(report_write(nowhere, result, NULL, &error), -1);
    assert_string_equal(error.code, "file_unwritable");
    unlink(path);
    /* A link that leads nowhere is something that exists. */
    assert_int_equal(symlink(nowhere, path), 0);
    assert_int_equal(report_check(path, &error), -1);
    assert_string_equal(error.code, "file_exists");
    unlink(path);

    struct rlimit before, small = {.rlim_cur = 1000};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int written_ = report_write(path, result, NULL, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(written_, -1);
    assert_string_equal(error.code, "file_unwritable");
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_says_what_the_result_says),
        cmocka_unit_test(without_a_recording_there_is_no_graph),
        cmocka_unit_test(nothing_in_a_result_or_recording_breaks_the_page),
        cmocka_unit_test(what_is_too_much_is_counted_instead),
        cmocka_unit_test(a_page_is_a_new_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
