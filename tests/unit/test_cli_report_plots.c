/* The drawings of the page: samples, rooflines, ranges. */
#define _GNU_SOURCE
#include "report_help.h"

#include "grader/cli/report/distribution.h"
#include "grader/cli/report/roofline.h"
#include "grader/cli/report/sections.h"
#include "sandbox/base/cleanup.h"

static void samples_are_drawn_one_by_one(void **state)
{
    (void)state;
    cleanup_free char *plot = drawn(
        distribution_plot,
        "{\"device_time\": " SERIES("19100, 19300, 19400, 19500, 19900") ", \"baseline\": " SERIES(
            "19200, 19400, 19400, 19400, 19800") "}");
    assert_well_formed(plot);
    assert_int_equal(count(plot, "<path class=\"a rug\""), 1);
    assert_int_equal(count(plot, "<path class=\"b rug\""), 1);
    assert_int_equal(count(strstr(plot, "a rug"), "V81"), 10); /* one for each, of both sides */
    assert_int_equal(count(plot, "class=\"median a\""), 1);
    assert_int_equal(count(plot, "class=\"median b\""), 1);
    assert_contains(plot, "19.40 µs ± 0.052");
    assert_contains(plot, "19.10–19.90 µs");
    assert_contains(plot, "every sample");
    assert_null(strstr(plot, "logarithmic"));
}

static void few_samples_or_none_are_no_trouble(void **state)
{
    (void)state;
    static const char *const examples[] = {
        "{\"device_time\": " SERIES("") ", \"baseline\": " SERIES("") "}",
        "{\"device_time\": " SERIES("19400") ", \"baseline\": " SERIES("0") "}",
        "{\"device_time\": " SERIES("-5, 0") "}",
        "{\"baseline\": " SERIES("null, \"x\", [], 7") "}",
        "{\"device_time\": {\"median_ns\": 0, \"samples_ns\": [0]}}",
        "{\"device_time\": {\"median_ns\": 5, \"samples_ns\": [5, 5, 5]}}",
        "{\"device_time\": {\"median_ns\": 1e308, \"p10_ns\": -1e308, \"p90_ns\": 1e308, "
        "\"samples_ns\": [1e308, -1e308]}}",
        "{\"device_time\": {\"median_ns\": -3, \"p10_ns\": 9, \"p90_ns\": -9}}",
    };
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        cleanup_free char *plot = drawn(distribution_plot, examples[i]);
        assert_contains(plot, "<svg");
        assert_well_formed(plot);
    }
    static const char *const empty[] = {"{}", "{\"device_time\": {\"median_ns\": null}}",
                                        "{\"device_time\": 3}", "[]"};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        cleanup_free char *plot = drawn(distribution_plot, empty[i]);
        assert_string_equal(plot, "");
    }
}

static void what_the_axis_leaves_out_is_said(void **state)
{
    (void)state;
    cleanup_free char *plot = drawn(
        distribution_plot, "{\"device_time\": " SERIES("19100, 19300, 19400, 19500, 950000") "}");
    assert_contains(plot, "1 sample outside the axis; the slowest took 950.0 µs.");
    assert_well_formed(plot);
}

static void times_far_apart_get_a_logarithmic_axis(void **state)
{
    (void)state;
    cleanup_free char *plot =
        drawn(distribution_plot,
              "{\"device_time\": {\"median_ns\": 1000, \"p10_ns\": 990, \"p90_ns\": 1010}, "
              "\"baseline\": {\"median_ns\": 900000, \"p10_ns\": 890000, \"p90_ns\": 910000}}");
    assert_contains(plot, "logarithmic");
    assert_well_formed(plot);
}

#define ROOFLINE(operations, memory)                                                               \
    "{\"device_time\": {\"median_ns\": 1000, \"cache\": \"warm\"}, \"baseline\": {\"median_ns\": " \
    "2000}, \"roofline\": {\"fraction\": 0.5, \"bound\": \"memory\", \"bytes\": 16000, "           \
    "\"operations\": " operations ", \"memory_bytes_per_s\": " memory                              \
    ", \"cache_bytes_per_s\": 9e10, \"operations_per_s\": 1e12}}"

static void a_roofline_has_both_points(void **state)
{
    (void)state;
    cleanup_free char *plot = drawn(roofline_plot, ROOFLINE("4000", "3.2e10"));
    assert_well_formed(plot);
    assert_contains(plot, "50.0 % of what memory allows: 16 kB to move, 4 kop to do.");
    assert_contains(plot, "candidate 4 Gop/s");
    assert_contains(plot, "baseline 2 Gop/s");
    assert_contains(plot, "memory 32 GB/s, arithmetic 1 Top/s");
    assert_contains(plot, "caches 90 GB/s");
    assert_int_equal(count(plot, "class=\"a ring\""), 1);
}

static void a_task_without_arithmetic_shows_its_traffic(void **state)
{
    (void)state;
    cleanup_free char *plot = drawn(roofline_plot, ROOFLINE("0", "3.2e10"));
    assert_well_formed(plot);
    assert_contains(plot, "candidate 16 GB/s");
    assert_contains(plot, "baseline 8 GB/s");
}

static void without_ceilings_only_the_fraction_is_said(void **state)
{
    (void)state;
    cleanup_free char *plot =
        drawn(roofline_plot, "{\"roofline\": {\"fraction\": 0.41, \"bound\": \"compute\"}}");
    assert_contains(plot, "41.0 % of what compute allows.");
    assert_null(strstr(plot, "<svg"));
    static const char *const hostile[] = {ROOFLINE("1e308", "1e-308"), ROOFLINE("-4", "3e10"),
                                          ROOFLINE("1e308", "1e308"),  ROOFLINE("1e-308", "1e-308"),
                                          ROOFLINE("4", "0"),          ROOFLINE("4", "\"x\"")};
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        cleanup_free char *text = drawn(roofline_plot, hostile[i]);
        assert_well_formed(text);
    }
}

#define RANGE_ROW(phase, range, metric, mean)                                                      \
    "{\"phase\": \"" phase "\", \"range\": \"" range "\", \"metric\": \"" metric                   \
    "\", \"count\": 4, \"mean\": " mean ", \"median\": 100, \"thread\": 0, \"depth\": 1, "         \
    "\"observer_sensitive\": true}"
#define RANGES_OF(rows, errors)                                                                    \
    "{\"profile\": {\"calls\": {\"cold\": 5, \"warm\": 2}, \"rows\": [" rows                       \
    "], \"errors\": [" errors "]}}"

static void ranges_are_drawn_by_phase(void **state)
{
    (void)state;
    cleanup_free char *text = drawn(
        section_ranges,
        RANGES_OF(RANGE_ROW("warm", "candidate.entry", "inclusive", "2000") ", " RANGE_ROW(
                      "warm", "candidate.entry", "self",
                      "500") ", " RANGE_ROW("warm", "<b>&x", "inclusive",
                                            "1500") ", " RANGE_ROW("warm", "<b>&x", "self", "1500"),
                  ""));
    assert_well_formed(text);
    assert_contains(text, "<h3>Warm: 2 calls</h3>");
    assert_null(strstr(text, "<h3>Cold"));
    assert_contains(text, "&lt;b&gt;&amp;x</p>");
    assert_contains(text, "<b>4.000 µs</b> <span class=\"dim\">own 1.000 µs</span>");
    assert_contains(text, "2× *</span>");
}

/* Ranges of one name in two places have their own figures. */
static void ranges_are_told_apart_by_their_place(void **state)
{
    (void)state;
    json_auto_t *result = parsed(RANGES_OF(
        RANGE_ROW("warm", "candidate.entry", "inclusive", "2000") ", " RANGE_ROW(
            "warm", "candidate.entry", "self",
            "500") ", " RANGE_ROW("warm", "x", "inclusive",
                                  "1500") ", " RANGE_ROW("warm", "x", "self",
                                                         "1500") ", " RANGE_ROW("warm", "x",
                                                                                "inclusive",
                                                                                "700") ","
                                                                                       " " RANGE_ROW(
                                                                                           "warm",
                                                                                           "x",
                                                                                           "self",
                                                                                           "350"),
        ""));
    json_t *rows = json_object_get(json_object_get(result, "profile"), "rows");
    for (size_t i = 2; i < 6; i++)
        json_object_set_new(json_array_get(rows, i), "path",
                            i < 4 ? json_pack("[s]", "a") : json_pack("[s, s]", "a", "b"));
    cleanup_free char *json = json_dumps(result, 0), *text = drawn(section_ranges, json);
    assert_contains(text, "<b>3.000 µs</b> <span class=\"dim\">own 3.000 µs</span>");
    assert_contains(text, "<b>1.400 µs</b> <span class=\"dim\">own 700.0 ns</span>");
}

static void ranges_beyond_the_limit_are_counted(void **state)
{
    (void)state;
    json_auto_t *result =
        parsed(RANGES_OF(RANGE_ROW("warm", "candidate.entry", "inclusive",
                                   "2000") ", " RANGE_ROW("warm", "candidate.entry", "self", "500"),
                         ""));
    json_t *rows = json_object_get(json_object_get(result, "profile"), "rows");
    for (int i = 1; i < 96 + 4; i++)
        for (size_t k = 0; k < 2; k++) {
            json_t *row = json_deep_copy(json_array_get(rows, k));
            json_object_set_new(row, "range", json_sprintf("range %d", i));
            json_array_append_new(rows, row);
        }
    cleanup_free char *json = json_dumps(result, 0), *text = drawn(section_ranges, json);
    assert_well_formed(text);
    assert_int_equal(count(text, "<div class=\"row\">"), 96);
    assert_contains(text, "4 more are not drawn");
}

static void ranges_that_are_none_break_nothing(void **state)
{
    (void)state;
    static const char *const hostile[] = {
        "{}",
        "{\"profile\": 7}",
        RANGES_OF("", ""),
        RANGES_OF("7, null, {}", "7"),
        RANGES_OF(RANGE_ROW("warm", "candidate.entry", "inclusive", "0"), "{\"message\": \"<i>\"}"),
        RANGES_OF(RANGE_ROW("warm", "candidate.entry", "inclusive", "1e308"), ""),
        RANGES_OF(RANGE_ROW("warm", "candidate.entry", "inclusive", "null"), ""),
    };
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        cleanup_free char *text = drawn(section_ranges, hostile[i]);
        assert_well_formed(text);
        assert_null(strstr(text, "<i>"));
        assert_null(strstr(text, "nan"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_drawn_one_by_one),
        cmocka_unit_test(few_samples_or_none_are_no_trouble),
        cmocka_unit_test(what_the_axis_leaves_out_is_said),
        cmocka_unit_test(times_far_apart_get_a_logarithmic_axis),
        cmocka_unit_test(a_roofline_has_both_points),
        cmocka_unit_test(a_task_without_arithmetic_shows_its_traffic),
        cmocka_unit_test(without_ceilings_only_the_fraction_is_said),
        cmocka_unit_test(ranges_are_drawn_by_phase),
        cmocka_unit_test(ranges_are_told_apart_by_their_place),
        cmocka_unit_test(ranges_beyond_the_limit_are_counted),
        cmocka_unit_test(ranges_that_are_none_break_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
