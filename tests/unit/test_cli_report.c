/* The page: escaping, axes, plots, and that nothing in a result can break it. */
#define _GNU_SOURCE
#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "grader/cli/cli.h"
#include "grader/cli/report/distribution.h"
#include "grader/cli/report/html.h"
#include "grader/cli/report/report.h"
#include "grader/cli/report/roofline.h"
#include "grader/cli/report/scale.h"
#include "grader/cli/report/sections.h"
#include "grader/cli/view.h"
#include "sandbox/base/cleanup.h"

/* --- help --- */

static json_t *parsed(const char *text)
{
    json_error_t where;
    json_t *json = json_loads(text, JSON_DECODE_ANY, &where);
    if (!json)
        fail_msg("%s at %d", where.text, where.position);
    return json;
}

static char *written(void (*write)(FILE *, const char *), const char *text)
{
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    assert_non_null(f);
    write(f, text);
    fclose(f);
    return out;
}

static char *drawn(void (*draw)(FILE *, const json_t *), const char *text)
{
    json_auto_t *json = parsed(text);
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    assert_non_null(f);
    draw(f, json);
    fclose(f);
    return out;
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    while ((text = strstr(text, part))) {
        n++;
        text += strlen(part);
    }
    return n;
}

static void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is missing in:\n%.4000s", part, text);
}

#define MAX_DEPTH 64

/* What an attribute that places something must hold: numbers, with letters of a path, units and spaces between. */
static void assert_place(const char *value, size_t n, bool is_path)
{
    const char *letters = is_path ? "MLVHvhzZ -. " : "%-. ";
    if (n == 0 && !is_path)
        fail_msg("A place is empty.");
    for (size_t i = 0; i < n; i++)
        if (!isdigit((unsigned char)value[i]) && !strchr(letters, value[i]))
            fail_msg("A place is \"%.*s\".", (int)n, value);
}

static void check_attribute(const char *name, size_t n, const char *value, size_t size)
{
    static const char *const places[] = {"x",  "y",  "x1", "x2",    "y1",     "y2",
                                         "cx", "cy", "r",  "width", "height", "d"};
    assert_null(memchr(value, '<', size));
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (strlen(places[i]) == n && !memcmp(places[i], name, n))
            assert_place(value, size, *places[i] == 'd');
    bool is_content = n == 7 && !memcmp(name, "content", n);
    if (!is_content && n > 1 && !memcmp(name, "on", 2))
        fail_msg("There is an attribute %.*s.", (int)n, name);
}

/* Reads a tag from behind its '<'; returns what is behind its '>'. */
static const char *check_tag(const char *p, const char *open[MAX_DEPTH], size_t *depth)
{
    bool closes = *p == '/';
    p += closes;
    size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789");
    assert_true(n > 0);
    if (closes) {
        assert_true(*depth > 0);
        const char *name = open[--*depth];
        if (memcmp(name, p, n) != 0 || isalnum((unsigned char)name[n]))
            fail_msg("</%.*s> closes <%.10s", (int)n, p, name);
        assert_true(p[n] == '>');
        return p + n + 1;
    }
    static const char *const unwelcome[] = {"script", "link", "iframe", "img", "object", "base"};
    for (size_t i = 0; i < sizeof unwelcome / sizeof unwelcome[0]; i++)
        assert_false(strlen(unwelcome[i]) == n && !memcmp(unwelcome[i], p, n));
    const char *name = p;
    p += n;
    while (*p == ' ') {
        const char *attribute = ++p;
        size_t k = strcspn(p, "= />");
        assert_true(p[k] == '=' && p[k + 1] == '"');
        p += k + 2;
        size_t size = strcspn(p, "\"");
        check_attribute(attribute, k, p, size);
        p += size;
        assert_true(*p == '"');
        p++;
    }
    if (*p == '/') {
        assert_true(p[1] == '>');
        return p + 2;
    }
    assert_true(*p == '>' && *depth < MAX_DEPTH);
    open[(*depth)++] = name;
    return p + 1;
}

/* Well-formed, no tag or attribute that could do something, only numbers where numbers belong. */
static void assert_well_formed(const char *p)
{
    const char *open[MAX_DEPTH];
    size_t depth = 0;
    if (!strncmp(p, "<!DOCTYPE html>", 15))
        p += 15;
    while (*p) {
        if (*p == '<') {
            p = check_tag(p + 1, open, &depth);
        } else {
            if (*p == '&')
                assert_true(!strncmp(p, "&lt;", 4) || !strncmp(p, "&gt;", 4) ||
                            !strncmp(p, "&amp;", 5) || !strncmp(p, "&quot;", 6) ||
                            !strncmp(p, "&#39;", 5));
            assert_true((unsigned char)*p >= 0x20 || *p == '\n' || *p == '\t');
            p++;
        }
    }
    assert_int_equal(depth, 0);
}

/* --- escaping --- */

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

/* --- axes --- */

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

/* --- plots --- */

#define SERIES(samples)                                                                            \
    "{\"median_ns\": 19400, \"p10_ns\": 19100, \"p90_ns\": 19900, \"stderr_ns\": 52, "             \
    "\"samples\": 5, \"void_samples\": 0, \"cache\": \"warm\", \"samples_ns\": [" samples "]}"

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

/* --- the page --- */

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

/* --- the file --- */

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

/* --- ranges --- */

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
        cmocka_unit_test(markup_becomes_text),
        cmocka_unit_test(what_xml_does_not_allow_is_replaced),
        cmocka_unit_test(long_text_is_cut_between_characters),
        cmocka_unit_test(coordinates_are_numbers),
        cmocka_unit_test(any_two_numbers_make_an_axis),
        cmocka_unit_test(marks_are_round_numbers),
        cmocka_unit_test(a_logarithmic_axis_has_equal_steps_for_equal_ratios),
        cmocka_unit_test(samples_are_drawn_one_by_one),
        cmocka_unit_test(few_samples_or_none_are_no_trouble),
        cmocka_unit_test(what_the_axis_leaves_out_is_said),
        cmocka_unit_test(times_far_apart_get_a_logarithmic_axis),
        cmocka_unit_test(a_roofline_has_both_points),
        cmocka_unit_test(a_task_without_arithmetic_shows_its_traffic),
        cmocka_unit_test(without_ceilings_only_the_fraction_is_said),
        cmocka_unit_test(ranges_are_drawn_by_phase),
        cmocka_unit_test(ranges_that_are_none_break_nothing),
        cmocka_unit_test(a_page_says_what_the_result_says),
        cmocka_unit_test(without_a_recording_there_is_no_graph),
        cmocka_unit_test(nothing_in_a_result_or_recording_breaks_the_page),
        cmocka_unit_test(what_is_too_much_is_counted_instead),
        cmocka_unit_test(a_page_is_a_new_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
