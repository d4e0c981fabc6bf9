/*
 * The counters of the server, and the page of them, which is held against a reader of the text format
 * (version 0.0.4) of our own: blocks, names, labels and their escapes, duplicates, histograms.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/base/cleanup.h"
#include "server/metrics.h"

/* --- A reader of the format --------------------------------------------------------------------- */

enum { MOST_SERIES = 8192, MOST_BLOCKS = 64 };

struct reading {
    const char *at;
    unsigned line;
    char problem[256];
    char blocks[MOST_BLOCKS][128]; /* names that were declared */
    char types[MOST_BLOCKS][16];
    unsigned n_blocks, n_series;
    char *series[MOST_SERIES]; /* name{labels}, to find them twice */
    double values[MOST_SERIES];
    /* Of the histogram that is being read. */
    char histogram[512];
    double last_bound, last_count;
    bool has_inf;
};

static bool wrong(struct reading *r, const char *problem)
{
    snprintf(r->problem, sizeof r->problem, "line %u: %s: %.80s", r->line, problem, r->at);
    return false;
}

static size_t name_length(const char *text, bool colon)
{
    size_t n = 0;
    while (isalpha((unsigned char)text[n]) || text[n] == '_' || (colon && text[n] == ':') ||
           (n && isdigit((unsigned char)text[n])))
        n++;
    return n;
}

/* "# HELP name text\n# TYPE name type\n" */
static bool read_head(struct reading *r)
{
    const char *name = r->at + strlen("# HELP ");
    size_t n = name_length(name, true), type_length;
    if (strncmp(r->at, "# HELP ", 7) || !n || name[n] != ' ')
        return wrong(r, "no HELP");
    if (r->n_blocks == MOST_BLOCKS || n >= sizeof r->blocks[0])
        return wrong(r, "too many blocks for this test");
    char *block = r->blocks[r->n_blocks], *type = r->types[r->n_blocks];
    snprintf(block, sizeof r->blocks[0], "%.*s", (int)n, name);
    for (const char *c = name + n; *c && *c != '\n'; c++)
        if (*c == '\\' && c[1] != '\\' && c[1] != 'n')
            return wrong(r, "bad escape in HELP");
        else if (*c == '\\')
            c++;
    for (unsigned i = 0; i < r->n_blocks; i++)
        if (!strcmp(r->blocks[i], block))
            return wrong(r, "a name declared twice");
    const char *end = strchr(r->at, '\n');
    if (!end)
        return wrong(r, "no end of line");
    r->at = end + 1;
    r->line++;
    if (strncmp(r->at, "# TYPE ", 7) || strncmp(r->at + 7, block, n) || r->at[7 + n] != ' ')
        return wrong(r, "no TYPE after HELP");
    r->at += 7 + n + 1;
    type_length = strcspn(r->at, "\n");
    snprintf(type, sizeof r->types[0], "%.*s", (int)type_length, r->at);
    if (strcmp(type, "counter") && strcmp(type, "gauge") && strcmp(type, "histogram"))
        return wrong(r, "unknown type");
    r->n_blocks++;
    r->at += type_length;
    return true;
}

/* Labels; *ret_bound is the text of `le`, others are added to labels. */
static bool read_labels(struct reading *r, char *labels, size_t size, char *ret_bound)
{
    size_t used = 0;
    ret_bound[0] = labels[0] = 0;
    if (*r->at != '{')
        return true;
    for (r->at++; *r->at != '}'; r->at += *r->at == ',') {
        const char *name = r->at;
        size_t n = name_length(name, false);
        if (!n || name[n] != '=' || name[n + 1] != '"')
            return wrong(r, "no label");
        const char *end = name + n + 2;
        for (; *end != '"'; end++) {
            if (!*end || *end == '\n')
                return wrong(r, "label without end");
            if (*end == '\\' && !strchr("\\\"n", *++end))
                return wrong(r, "bad escape");
        }
        size_t length = (size_t)(end + 1 - name);
        if (n == 2 && !strncmp(name, "le", 2))
            snprintf(ret_bound, 64, "%.*s", (int)(length - 5), name + 4);
        else if (used + length + 2 < size)
            used += (size_t)snprintf(labels + used, size - used, "%.*s,", (int)length, name);
        r->at = end + 1;
        if (*r->at != ',' && *r->at != '}')
            return wrong(r, "no end of labels");
    }
    r->at++;
    return true;
}

static bool read_number(struct reading *r, double *ret)
{
    char *end;
    if (isspace((unsigned char)*r->at))
        return wrong(r, "no number");
    *ret = strtod(r->at, &end);
    /* Of the names for what is not finite only these are standard. */
    size_t n = (size_t)(end - r->at);
    bool named = (n == 3 && !strncmp(r->at, "NaN", 3)) || (n == 4 && !strncmp(r->at + 1, "Inf", 3));
    if (!n || (!isfinite(*ret) && !named))
        return wrong(r, "no number");
    r->at = end;
    return true;
}

/* Buckets in order, the last +Inf, then _sum and _count, for one set of labels after another. */
static bool check_histogram(struct reading *r, const char *suffix, const char *labels,
                            const char *bound, double value)
{
    char key[512];
    snprintf(key, sizeof key, "%s{%s", r->blocks[r->n_blocks - 1], labels);
    if (!strcmp(suffix, "_bucket")) {
        double at = strtod(bound, NULL);
        bool first = strcmp(r->histogram, key) != 0;
        if (!bound[0] || value != floor(value))
            return wrong(r, "no bucket");
        if (first && r->histogram[0])
            return wrong(r, "histogram without end");
        if (!first && (at <= r->last_bound || value < r->last_count))
            return wrong(r, "buckets that are not cumulative");
        memcpy(r->histogram, key, sizeof key);
        r->last_bound = at;
        r->last_count = value;
        r->has_inf = !strcmp(bound, "+Inf");
        return true;
    }
    if (bound[0] || strcmp(r->histogram, key) != 0 || !r->has_inf)
        return wrong(r, "sum or count without buckets");
    if (!strcmp(suffix, "_sum"))
        return true;
    if (strcmp(suffix, "_count") != 0 || value != r->last_count)
        return wrong(r, "a count that is not the last bucket");
    r->histogram[0] = 0;
    return true;
}

static bool read_sample(struct reading *r)
{
    const char *start = r->at, *block = r->n_blocks ? r->blocks[r->n_blocks - 1] : "?";
    size_t n = name_length(start, true), length = strlen(block);
    char labels[400], bound[64], suffix[16];
    double value;
    if (n < length || strncmp(start, block, length))
        return wrong(r, "a sample outside its block");
    snprintf(suffix, sizeof suffix, "%.*s", (int)(n - length), start + length);
    r->at += n;
    if (!read_labels(r, labels, sizeof labels, bound))
        return false;
    size_t key = (size_t)(r->at - start);
    if (*r->at++ != ' ' || !read_number(r, &value))
        return wrong(r, "no value");
    if (r->n_series == MOST_SERIES)
        return wrong(r, "too many series for this test");
    for (unsigned i = 0; i < r->n_series; i++)
        if (strlen(r->series[i]) == key && !strncmp(r->series[i], start, key))
            return wrong(r, "a series twice");
    r->series[r->n_series] = strndup(start, key);
    r->values[r->n_series++] = value;
    if (!strcmp(r->types[r->n_blocks - 1], "histogram"))
        return check_histogram(r, suffix, labels, bound, value);
    if (suffix[0] || bound[0])
        return wrong(r, "a name that is not its block's");
    return true;
}

static bool read_page(struct reading *r, const char *page)
{
    r->at = page;
    for (r->line = 1; *r->at; r->line++) {
        if (!(*r->at == '#' ? read_head(r) : read_sample(r)))
            return false;
        if (*r->at++ != '\n')
            return r->at--, wrong(r, "no end of line");
    }
    if (r->histogram[0])
        return wrong(r, "histogram without end");
    return true;
}

static void reading_free(struct reading *r)
{
    for (unsigned i = 0; i < r->n_series; i++)
        free(r->series[i]);
    free(r);
}

/* Reads a page, which must be right; takes ownership of it. */
static struct reading *must_read(char *page)
{
    struct reading *r = calloc(1, sizeof *r);
    assert_non_null(page);
    assert_non_null(r);
    if (!read_page(r, page))
        print_error("%s\n", r->problem);
    assert_string_equal(r->problem, "");
    free(page);
    return r;
}

static double value_of(const struct reading *r, const char *series)
{
    for (unsigned i = 0; i < r->n_series; i++)
        if (!strcmp(r->series[i], series))
            return r->values[i];
    return -1;
}

static double sum_of(const struct reading *r, const char *name)
{
    double sum = 0;
    for (unsigned i = 0; i < r->n_series; i++)
        if (!strncmp(r->series[i], name, strlen(name)) && r->series[i][strlen(name)] == '{')
            sum += r->values[i];
    return sum;
}

static void test_the_reader_reads(void **state)
{
    (void)state;
    static const char head[] = "# HELP a b\n# TYPE a counter\n";
    static const char histogram[] = "# HELP h b\n# TYPE h histogram\n";
    static const struct {
        const char *head, *rest;
        bool right;
    } pages[] = {
        {"", "", true},
        {head, "a 1\n", true},
        {head, "a{b=\"c\\\"\\\\\\n\",d=\"\"} 1e-3\n", true},
        {head, "a 1", false},
        {head, "b 1\n", false},
        {head, "a 1\na 1\n", false},
        {head, "a{b=\"\\x\"} 1\n", false},
        {head, "a{b=\"c} 1\n", false},
        {head, "a{b=c} 1\n", false},
        {head, "a{1b=\"c\"} 1\n", false},
        {head, "a one\n", false},
        {head, "a inf\n", false},
        {head, "a +Inf\n", true},
        {head, head, false},
        {head, "# HELP b c", false},
        {"", "a 1\n", false},
        {"# HELP a b\n", "a 1\n", false},
        {histogram, "h_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 3\nh_count 2\n", true},
        {histogram, "h_bucket{le=\"1\"} 3\nh_bucket{le=\"+Inf\"} 2\nh_sum 3\nh_count 2\n", false},
        {histogram, "h_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 3\nh_count 1\n", false},
        {histogram, "h_bucket{le=\"1\"} 1\nh_sum 3\nh_count 1\n", false},
        {histogram, "h_bucket{le=\"+Inf\"} 2\n", false},
    };
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        struct reading *r = calloc(1, sizeof *r);
        cleanup_free char *page = NULL;
        assert_true(asprintf(&page, "%s%s", pages[i].head, pages[i].rest) >= 0);
        if (read_page(r, page) != pages[i].right)
            print_error("%s: %s\n", page, r->problem);
        assert_int_equal(r->problem[0] == 0, pages[i].right);
        reading_free(r);
    }
}

/* --- The counters ------------------------------------------------------------------------------- */

static void count_grade(struct metrics *m, const char *verdict, const char *device,
                        const char *task)
{
    char result[512];
    snprintf(result, sizeof result,
             "{\"verdict\": \"%s\", \"device\": \"%s\", \"task\": {\"name\": \"%s\"}, \"reason\": "
             "{\"code\": \"device_lost\"}, \"steps\": {\"build_ms\": 300, \"replay_ms\": 12000.5, "
             "\"total_ms\": 400000, \"note\": \"x\", \"odd\": 5}}",
             verdict, device, task);
    metrics_grade(m, result);
}

static void test_grades(void **state)
{
    (void)state;
    struct metrics *m = metrics_new();
    count_grade(m, "accepted", "opencl", "vector_add");
    count_grade(m, "accepted", "opencl", "vector_add");
    count_grade(m, "infrastructure_error", "cuda", "matmul");
    metrics_grade(m, "not JSON");
    metrics_grade(m, "{}");
    metrics_grade(m, "[]");
    struct reading *r = must_read(metrics_text(m, NULL, 0));
    assert_true(
        value_of(
            r, "kgrade_grades_total{verdict=\"accepted\",device=\"opencl\",task=\"vector_add\"}") ==
        2);
    assert_true(value_of(r, "kgrade_grades_total{verdict=\"infrastructure_error\",device=\"cuda\","
                            "task=\"matmul\"}") == 1);
    assert_true(value_of(r, "kgrade_faults_total{code=\"device_lost\",device=\"cuda\"}") == 1);
    assert_true(sum_of(r, "kgrade_faults_total") == 1);
    /* 300 ms: above 0.25 s, not above 0.5 s. */
    assert_true(
        value_of(r, "kgrade_step_seconds_bucket{step=\"build\",device=\"opencl\",le=\"0.25\"}") ==
        0);
    assert_true(
        value_of(r, "kgrade_step_seconds_bucket{step=\"build\",device=\"opencl\",le=\"0.5\"}") ==
        2);
    assert_true(value_of(r, "kgrade_step_seconds_count{step=\"replay\",device=\"opencl\"}") == 2);
    assert_true(fabs(value_of(r, "kgrade_step_seconds_sum{step=\"replay\",device=\"opencl\"}") -
                     24.001) < 1e-9);
    assert_true(
        value_of(r, "kgrade_step_seconds_bucket{step=\"total\",device=\"cuda\",le=\"320\"}") == 0);
    assert_true(
        value_of(r, "kgrade_step_seconds_bucket{step=\"total\",device=\"cuda\",le=\"+Inf\"}") == 1);
    assert_true(sum_of(r, "kgrade_step_seconds_count") == 9); /* three steps of three grades */
    reading_free(r);
    metrics_free(m);
    metrics_free(NULL);
}

static void test_requests(void **state)
{
    (void)state;
    struct metrics *m = metrics_new();
    metrics_request(m, "/grades/{id}", 200, 0.0004);
    metrics_request(m, "/grades/{id}", 200, 0.001); /* a bound is within its bucket */
    metrics_request(m, "/grades/{id}", 404, 100);
    metrics_request(m, "other", 404, -1); /* a clock that was set back */
    struct reading *r = must_read(metrics_text(m, NULL, 0));
    assert_true(value_of(r, "kgrade_requests_total{route=\"/grades/{id}\",status=\"200\"}") == 2);
    assert_true(value_of(r, "kgrade_requests_total{route=\"/grades/{id}\",status=\"404\"}") == 1);
    assert_true(value_of(r, "kgrade_requests_total{route=\"other\",status=\"404\"}") == 1);
    static const char *const bounds[] = {"0.0005", "0.001", "30", "+Inf"};
    static const double counts[] = {1, 2, 2, 3};
    for (int i = 0; i < 4; i++) {
        char series[128];
        snprintf(series, sizeof series,
                 "kgrade_request_seconds_bucket{route=\"/grades/{id}\",le=\"%s\"}", bounds[i]);
        assert_true(value_of(r, series) == counts[i]);
    }
    assert_true(value_of(r, "kgrade_request_seconds_sum{route=\"other\"}") == 0);
    reading_free(r);
    metrics_free(m);
}

static void test_too_many_series(void **state)
{
    (void)state;
    struct metrics *m = metrics_new();
    char task[32];
    for (int i = 0; i < METRICS_MAX_SERIES + 100; i++) {
        snprintf(task, sizeof task, "task_%d", i);
        count_grade(m, "accepted", "opencl", task);
    }
    count_grade(m, "timeout", "opencl", "task_x");
    count_grade(m, "accepted", "opencl", "task_0"); /* has its own */
    for (int i = 0; i < 1000; i++) {                /* combinations no table has room for */
        snprintf(task, sizeof task, "verdict_%d", i);
        count_grade(m, task, "opencl", "task_x");
    }
    for (unsigned i = 0; i < 2000; i++) {
        snprintf(task, sizeof task, "/route_%u", i);
        metrics_request(m, task, i, 0.1);
    }
    struct reading *r = must_read(metrics_text(m, NULL, 0));
    assert_true(
        value_of(r, "kgrade_grades_total{verdict=\"accepted\",device=\"opencl\",task=\"other\"}") ==
        100);
    assert_true(
        value_of(r, "kgrade_grades_total{verdict=\"timeout\",device=\"opencl\",task=\"other\"}") ==
        1);
    assert_true(
        value_of(
            r, "kgrade_grades_total{verdict=\"accepted\",device=\"opencl\",task=\"task_0\"}") == 2);
    assert_true(
        value_of(r, "kgrade_grades_total{verdict=\"other\",device=\"other\",task=\"other\"}") > 0);
    assert_true(sum_of(r, "kgrade_grades_total") == METRICS_MAX_SERIES + 100 + 1002);
    assert_true(sum_of(r, "kgrade_requests_total") == 2000);
    assert_true(sum_of(r, "kgrade_request_seconds_count") == 2000);
    reading_free(r);
    metrics_free(m);
}

static void test_escapes(void **state)
{
    (void)state;
    struct metrics *m = metrics_new();
    metrics_request(m, "/\"\\\n\xff", 200, 0);
    char route[200];
    memset(route, 'x', sizeof route - 1);
    route[sizeof route - 1] = 0;
    metrics_request(m, route, 200, 0);
    const struct metrics_gauge gauges[] = {
        {.name = "kgrade_a", .help = "Back\\slash\nand line", .value = 0.1},
        {.name = "kgrade_b", .help = "B", .labels = "x=\"1\"", .value = NAN},
        {.name = "kgrade_c", .help = "C", .is_counter = true, .value = 1e15},
        {.name = "kgrade_b", .help = "B again", .labels = "x=\"2\"", .value = -INFINITY},
        {.name = "kgrade_b", .help = "B again", .labels = "x=\"3\"", .value = -0.5},
    };
    char *page = metrics_text(m, gauges, sizeof gauges / sizeof gauges[0]);
    assert_non_null(strstr(page, "# HELP kgrade_a Back\\\\slash\\nand line\n# TYPE kgrade_a gauge\n"
                                 "kgrade_a 0.1\n"));
    assert_non_null(strstr(page, "# TYPE kgrade_b gauge\nkgrade_b{x=\"1\"} NaN\n"
                                 "kgrade_b{x=\"2\"} -Inf\nkgrade_b{x=\"3\"} -0.5\n"));
    assert_non_null(strstr(page, "# TYPE kgrade_c counter\nkgrade_c 1e+15\n"));
    assert_int_equal(page[strlen(page) - 1], '\n');
    struct reading *r = must_read(page);
    assert_true(value_of(r, "kgrade_requests_total{route=\"/\\\"\\\\\\n_\",status=\"200\"}") == 1);
    assert_true(sum_of(r, "kgrade_requests_total") == 2);
    reading_free(r);
    metrics_free(m);
}

/* Pages are right while others count. */
enum { COUNTERS = 4, COUNTS = 3000 };
static atomic_uint counting;

static void *count_much(void *data)
{
    char route[32];
    for (unsigned i = 0; i < COUNTS; i++) {
        snprintf(route, sizeof route, "/%u", i % 20);
        metrics_request(data, route, 200 + i % 5, i * 1e-5);
        if (i % 100 == 0)
            count_grade(data, "accepted", "opencl", "vector_add");
    }
    atomic_fetch_sub(&counting, 1);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    struct metrics *m = metrics_new();
    pthread_t threads[COUNTERS];
    counting = COUNTERS;
    for (int i = 0; i < COUNTERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_much, m), 0);
    double before = 0;
    while (counting) {
        struct reading *r = must_read(metrics_text(m, NULL, 0));
        double now = sum_of(r, "kgrade_requests_total");
        assert_true(now >= before);
        before = now;
        reading_free(r);
    }
    for (int i = 0; i < COUNTERS; i++)
        pthread_join(threads[i], NULL);
    struct reading *r = must_read(metrics_text(m, NULL, 0));
    assert_true(sum_of(r, "kgrade_requests_total") == COUNTERS * COUNTS);
    assert_true(sum_of(r, "kgrade_request_seconds_count") == COUNTERS * COUNTS);
    assert_true(sum_of(r, "kgrade_grades_total") == COUNTERS * (COUNTS / 100.0));
    reading_free(r);
    metrics_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_reader_reads), cmocka_unit_test(test_grades),
        cmocka_unit_test(test_requests),         cmocka_unit_test(test_too_many_series),
        cmocka_unit_test(test_escapes),          cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
