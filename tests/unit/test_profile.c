/* The collector of ranges, the nesting rebuilt from its logs, and the rows made of it. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first */
#include <cmocka.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grader/profile/answer.h"
#include "grader/profile/collector.h"
#include "grader/profile/groups.h"
#include "grader/profile/rows.h"
#include "grader/profile/trace.h"
#include "sandbox/base/cleanup.h"

#define USER LOG_DOMAIN_DEFAULT

static int open_collector(void **state)
{
    (void)state;
    return collector_open(COLLECTOR_CLOCK_BEST, NULL);
}

static int close_collector(void **state)
{
    (void)state;
    collector_close();
    return 0;
}

static const struct log_event *event(unsigned thread, size_t i)
{
    assert_true(i < collector_log(thread).n);
    return &collector_log(thread).events[i];
}

static void assert_event(unsigned thread, size_t i, enum log_kind kind, const char *name)
{
    const struct log_event *e = event(thread, i);
    assert_int_equal(log_kind_of(e), kind);
    if (name)
        assert_string_equal(collector_name_text(log_name(e)), name);
}

/* --- the collector --- */

static void test_only_while_active(void **state)
{
    (void)state;
    collector_push(USER, "before");
    collector_pop(USER);
    assert_int_equal(collector_start(USER, "before"), 0);
    collector_end(0);
    assert_int_equal(collector_log(0).n, 0);
    collector_resume();
    collector_push(USER, "outer");
    collector_push(3, "inner");
    collector_pop(3);
    collector_pop(USER);
    collector_pause();
    collector_pop(USER);
    assert_int_equal(collector_log(0).n, 4);
    assert_event(0, 0, LOG_PUSH, "outer");
    assert_event(0, 1, LOG_PUSH, "inner");
    assert_event(0, 2, LOG_POP, NULL);
    assert_int_equal(log_domain(event(0, 1)), 3);
    for (size_t i = 1; i < 4; i++)
        assert_true(event(0, i)->ticks >= event(0, i - 1)->ticks);
    collector_clear();
    assert_int_equal(collector_log(0).n, 0);
}

static void test_numbered(void **state)
{
    (void)state;
    collector_resume();
    uint64_t a = collector_start(USER, "a"), b = collector_start(USER, "b");
    collector_end(b);
    collector_end(a);
    collector_pause();
    assert_true(a && b && a != b);
    assert_event(0, 0, LOG_START, "a");
    assert_event(0, 2, LOG_END, NULL);
    assert_int_equal(log_number(event(0, 1)), b);
    assert_int_equal(log_number(event(0, 2)), b);
    assert_int_equal(log_number(event(0, 3)), a);
}

/* A name is its text, wherever the text is, and whatever was there before. */
static void test_names(void **state)
{
    (void)state;
    char buffer[32] = "first", other[32] = "first", lengthy[4 * LOG_MAX_NAME];
    collector_resume();
    collector_push(USER, buffer);
    strcpy(buffer, "second");
    collector_push(USER, buffer);
    collector_push(USER, other);
    collector_push(USER, NULL);
    memset(lengthy, 'x', sizeof lengthy);
    lengthy[sizeof lengthy - 1] = 0;
    collector_push(USER, lengthy);
    collector_push(USER, lengthy);
    collector_pause();
    assert_event(0, 0, LOG_PUSH, "first");
    assert_event(0, 1, LOG_PUSH, "second");
    assert_int_equal(log_name(event(0, 0)), log_name(event(0, 2)));
    assert_event(0, 3, LOG_PUSH, "(no name)");
    assert_int_equal(strlen(collector_name_text(log_name(event(0, 4)))), LOG_MAX_NAME - 1);
    assert_int_equal(log_name(event(0, 4)), log_name(event(0, 5)));
    assert_string_equal(collector_name_text(LOG_MAX_NAMES + 5), "?");
}

static void test_full_log_counts(void **state)
{
    (void)state;
    collector_resume();
    for (size_t i = 0; i < COLLECTOR_EVENTS / 2 + 3; i++) {
        collector_push(USER, "x");
        collector_pop(USER);
    }
    collector_pause();
    assert_int_equal(collector_log(0).n, COLLECTOR_EVENTS);
    assert_int_equal(collector_log(0).lost, 6);
    collector_clear();
    assert_int_equal(collector_log(0).lost, 0);
}

static void *push_on_thread(void *data)
{
    collector_push(USER, data);
    collector_pop(USER);
    return NULL;
}

static void run_thread(const char *name)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, push_on_thread, (void *)(uintptr_t)name), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void test_threads(void **state)
{
    (void)state;
    collector_resume();
    collector_push(USER, "main");
    run_thread("other");
    collector_pop(USER);
    assert_int_equal(collector_threads(), 2);
    assert_int_equal(collector_log(0).n, 2);
    assert_event(1, 0, LOG_PUSH, "other");
    assert_int_equal(collector_log(1).n, 2);
    for (unsigned i = 2; i < COLLECTOR_MAX_THREADS + 2; i++)
        run_thread("more");
    collector_pause();
    assert_int_equal(collector_threads(), COLLECTOR_MAX_THREADS);
    assert_int_equal(collector_threads_lost(), 4);
}

/* Names that are known, on a log that is there: nothing is asked of the allocator. */
static void test_no_allocation(void **state)
{
    (void)state;
    collector_resume();
    collector_push(USER, "known");
    collector_pop(USER);
    struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < 1000; i++) {
        collector_push(USER, "known");
        collector_push(USER, "new");
        collector_end(collector_start(USER, "known"));
        collector_pop(USER);
        collector_pop(USER);
    }
    struct mallinfo2 after = mallinfo2();
    collector_pause();
    assert_int_equal(before.uordblks, after.uordblks);
    assert_int_equal(before.hblkhd, after.hblkhd);
    assert_int_equal(collector_log(0).n, 6002);
}

static void test_calibration(void **state)
{
    (void)state;
    struct collector_cost cost;
    collector_resume();
    collector_push(USER, "kept");
    collector_pop(USER);
    collector_calibrate(&cost);
    assert_true(collector_is_active());
    collector_pause();
    assert_int_equal(collector_log(0).n, 2);
    assert_event(0, 0, LOG_PUSH, "kept");
    assert_true(isfinite(cost.leaf_ns) && cost.leaf_ns >= 0);
    assert_true(isfinite(cost.complete_ns) && cost.complete_ns > 0);
    assert_true(collector_tick_ns() > 0);
    collector_calibrate(&cost);
    assert_false(collector_is_active());
}

static void test_monotonic_clock(void **state)
{
    (void)state;
    struct timespec a, b;
    assert_int_equal(collector_open(COLLECTOR_CLOCK_MONOTONIC, NULL), 0);
    assert_string_equal(collector_clock_name(), "monotonic");
    assert_true(collector_tick_ns() == 1);
    collector_resume();
    clock_gettime(CLOCK_MONOTONIC, &a);
    collector_push(USER, "x");
    collector_pop(USER);
    clock_gettime(CLOCK_MONOTONIC, &b);
    collector_pause();
    uint64_t before = (uint64_t)a.tv_sec * 1000000000u + (uint64_t)a.tv_nsec;
    uint64_t after = (uint64_t)b.tv_sec * 1000000000u + (uint64_t)b.tv_nsec;
    assert_true(event(0, 0)->ticks >= before && event(0, 1)->ticks <= after);
}

/* --- NVTX --- */

typedef void (*function)(void);
static function slots[2][16];

static int give_table(int module, function ***ret, unsigned *ret_size)
{
    static function *tables[2][16];
    for (int i = 0; i < 16; i++) {
        tables[0][i] = &slots[0][i];
        tables[1][i] = &slots[1][i];
    }
    *ret = tables[module == 5];
    *ret_size = 16;
    return module == 1 || module == 5;
}

static struct {
    size_t size;
    int (*table)(int, function ***, unsigned *);
} callbacks = {sizeof callbacks, give_table};

static const void *give_callbacks(uint32_t id)
{
    return id == 1 ? &callbacks : NULL;
}

static const void *give_nothing(uint32_t id)
{
    (void)id;
    return NULL;
}

struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id));

static void test_nvtx(void **state)
{
    (void)state;
    assert_int_equal(InitializeInjectionNvtx2(give_nothing), 0);
    assert_int_equal(InitializeInjectionNvtx2(give_callbacks), 1);
    function *core = slots[0], *core2 = slots[1];
    void *domain = ((void *(*)(const char *))core2[12])("a domain");
    void *text = ((void *(*)(void *, const char *))core2[10])(domain, "registered");
    assert_non_null(domain);
    collector_resume();
    ((int (*)(const char *))core[9])("ascii");
    ((int (*)(const wchar_t *))core[10])(L"wid\u00e9");
    struct attributes a = {.version = 2, .size = sizeof a, .message_type = 3, .message = text};
    ((int (*)(void *, const struct attributes *))core2[4])(domain, &a);
    a.message_type = 1;
    a.message = "attributes";
    uint64_t id = ((uint64_t(*)(const struct attributes *))core[4])(&a);
    a.size = 8;
    ((int (*)(const struct attributes *))core[8])(&a);
    ((int (*)(void))core[11])();
    ((void (*)(uint64_t))core[7])(id);
    ((int (*)(void *))core2[5])(domain);
    ((int (*)(void))core[11])();
    ((int (*)(void))core[11])();
    collector_pause();
    assert_int_equal(collector_log(0).n, 10);
    assert_event(0, 0, LOG_PUSH, "ascii");
    assert_event(0, 1, LOG_PUSH, "wid?");
    assert_event(0, 2, LOG_PUSH, "registered");
    assert_int_equal(log_domain(event(0, 2)), (uintptr_t)domain);
    assert_event(0, 3, LOG_START, "attributes");
    assert_event(0, 4, LOG_PUSH, "(no name)");
    assert_event(0, 5, LOG_POP, NULL);
    assert_event(0, 6, LOG_END, NULL);
    assert_int_equal(log_domain(event(0, 7)), (uintptr_t)domain);
}

/* Domains beyond the number that a log can tell apart become the default one, never one of the grader's. */
static void test_many_domains(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2 * LOG_MAX_DOMAINS; i++)
        assert_true(collector_domain("d") < LOG_DOMAIN_API);
    assert_int_equal(collector_domain("d"), LOG_DOMAIN_DEFAULT);
}

/* --- nesting --- */

static const char *const names[] = {
    "a", "b", "candidate.entry", "clFinish", "backend.sync", "clWaitForEvents"};
enum { A, B, ENTRY, FINISH, SYNC, WAIT };

#define EVENTS 16

struct script {
    struct log_event events[2][EVENTS];
    struct span_logs logs;
};

static void begin_script(struct script *s)
{
    *s = (struct script){.logs = {.n_threads = 2, .names = names, .n_names = 6}};
    s->logs.events[0] = s->events[0];
    s->logs.events[1] = s->events[1];
}

static void add(struct script *s, size_t thread, uint64_t ticks, enum log_kind kind,
                unsigned domain, unsigned name, uint64_t number)
{
    s->events[thread][s->logs.n_events[thread]++] =
        (struct log_event){ticks, log_pack(kind, domain, name, number)};
}

static void assert_mistake(const struct script *s, size_t thread, const char *code,
                           const char *word)
{
    cleanup_spans struct spans spans = {0};
    kgrade_error err = {.code = ""};
    assert_int_equal(spans_rebuild(&s->logs, thread, &spans, &err), -1);
    assert_string_equal(err.code, code);
    assert_non_null(strstr(err.message, word));
    assert_null(spans.list);
}

static void test_nesting(void **state)
{
    (void)state;
    struct script s;
    cleanup_spans struct spans spans = {0};
    begin_script(&s);
    add(&s, 0, 100, LOG_PUSH, LOG_DOMAIN_GRADER, ENTRY, 0);
    add(&s, 0, 110, LOG_PUSH, USER, A, 0);
    add(&s, 0, 115, LOG_START, USER, B, 7);
    add(&s, 0, 125, LOG_END, USER, 0, 7);
    add(&s, 0, 130, LOG_PUSH, 4, B, 0);
    add(&s, 0, 128, LOG_POP, 4, 0, 0); /* a clock that goes back */
    add(&s, 0, 150, LOG_POP, USER, 0, 0);
    add(&s, 0, 200, LOG_POP, LOG_DOMAIN_GRADER, 0, 0);
    assert_int_equal(spans_rebuild(&s.logs, 0, &spans, NULL), 0);
    assert_int_equal(spans.n, 4);
    assert_int_equal(spans.list[0].parent, SPAN_NONE);
    assert_int_equal(spans.list[0].inclusive, 100);
    assert_int_equal(span_self(&spans.list[0]), 60);
    assert_int_equal(spans.list[1].parent, 0);
    assert_int_equal(spans.list[1].inclusive, 40);
    assert_int_equal(span_self(&spans.list[1]), 30);
    assert_int_equal(spans.list[2].parent, 1);
    assert_int_equal(spans.list[3].inclusive, 0);
}

static void test_mistakes(void **state)
{
    (void)state;
    struct script s;
    begin_script(&s);
    add(&s, 0, 1, LOG_PUSH, LOG_DOMAIN_GRADER, ENTRY, 0);
    add(&s, 0, 2, LOG_PUSH, USER, A, 0);
    add(&s, 0, 3, LOG_POP, LOG_DOMAIN_GRADER, 0, 0);
    assert_mistake(&s, 0, "range_unclosed", "\"a\"");
    s.logs.n_events[0] = 2;
    assert_mistake(&s, 0, "range_unclosed", "\"a\"");
    add(&s, 0, 3, LOG_PUSH, 4, B, 0);
    add(&s, 0, 4, LOG_POP, USER, 0, 0);
    assert_mistake(&s, 0, "range_crossed", "\"b\"");
    begin_script(&s);
    add(&s, 0, 1, LOG_POP, USER, 0, 0);
    assert_mistake(&s, 0, "range_not_open", "beginning");
    begin_script(&s);
    add(&s, 0, 1, LOG_END, USER, 0, 9);
    assert_mistake(&s, 0, "range_not_open", "beginning");
    add(&s, 1, 1, LOG_START, USER, B, 9);
    assert_mistake(&s, 0, "range_foreign_thread", "\"b\"");
    begin_script(&s);
    s.logs.lost[0] = 3;
    assert_mistake(&s, 0, "ring_full", "3");
    begin_script(&s);
    s.logs.threads_lost = 1;
    assert_mistake(&s, 0, "ring_full", "threads");
    /* A name that is none does no harm. */
    begin_script(&s);
    add(&s, 0, 1, LOG_PUSH, USER, 60000, 0);
    assert_mistake(&s, 0, "range_unclosed", "\"?\"");
}

/* --- rows --- */

static const char *text_of(const json_t *row, const char *key)
{
    return json_string_value(json_object_get(row, key));
}

static const json_t *find_row(const json_t *rows, const char *range, const char *metric)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        if (!strcmp(text_of(row, "range"), range) && !strcmp(text_of(row, "metric"), metric))
            return row;
    }
    return NULL;
}

static void assert_row(const json_t *rows, const char *range, const char *metric, int count,
                       double mean)
{
    const json_t *row = find_row(rows, range, metric);
    assert_non_null(row);
    assert_int_equal(json_integer_value(json_object_get(row, "count")), count);
    assert_true(fabs(json_number_value(json_object_get(row, "mean")) - mean) < 1e-9);
}

static json_t *rows_of(const struct script *s, double tick_ns, double observer_ns)
{
    static const struct rows_common common = {"node", "op", "back"};
    cleanup_spans struct spans spans = {0};
    cleanup_rows struct rows *rows = rows_new();
    json_t *json = json_array();
    assert_int_equal(spans_rebuild(&s->logs, 0, &spans, NULL), 0);
    assert_int_equal(rows_add(rows, &spans, &s->logs, 0, tick_ns, NULL), 0);
    assert_int_equal(rows_write(rows, &common, "warm", "p", observer_ns, json), 0);
    return json;
}

/* The ten keys of the reports that these are like come first, in their order. */
static void test_keys(void **state)
{
    (void)state;
    static const char *const keys[] = {"nodeid",
                                       "operator",
                                       "backend",
                                       "phase",
                                       "range",
                                       "metric",
                                       "count",
                                       "unit",
                                       "mean",
                                       "median",
                                       "min",
                                       "p10",
                                       "p90",
                                       "p99",
                                       "mad",
                                       "population",
                                       "thread",
                                       "observer_ns",
                                       "observer_sensitive",
                                       "depth"};
    double samples[] = {3, 1, 2, 10};
    const struct rows_common common = {"node", "op", "back"};
    json_auto_t *row = rows_one(&common, "cold", "x", "self", 8, samples, 4, "p", 2, 1, 0.3);
    const char *key;
    json_t *value;
    size_t i = 0;
    json_object_foreach(row, key, value) assert_string_equal(key, keys[i++]);
    assert_int_equal(i, sizeof keys / sizeof keys[0]);
    assert_int_equal(json_integer_value(json_object_get(row, "count")), 8);
    assert_true(json_real_value(json_object_get(row, "mean")) == 4);
    assert_true(json_real_value(json_object_get(row, "median")) == 2.5);
    assert_true(json_real_value(json_object_get(row, "min")) == 1);
    assert_true(json_real_value(json_object_get(row, "mad")) == 1);
    assert_true(json_is_true(json_object_get(row, "observer_sensitive")));
}

static void test_rows(void **state)
{
    (void)state;
    struct script s;
    begin_script(&s);
    /* entry [ a [] a [ clFinish [] ] ] */
    add(&s, 0, 0, LOG_PUSH, LOG_DOMAIN_GRADER, ENTRY, 0);
    add(&s, 0, 10, LOG_PUSH, USER, A, 0);
    add(&s, 0, 20, LOG_POP, USER, 0, 0);
    add(&s, 0, 30, LOG_PUSH, USER, A, 0);
    add(&s, 0, 35, LOG_PUSH, LOG_DOMAIN_API, FINISH, 0);
    add(&s, 0, 55, LOG_POP, LOG_DOMAIN_API, 0, 0);
    add(&s, 0, 60, LOG_POP, USER, 0, 0);
    add(&s, 0, 100, LOG_POP, LOG_DOMAIN_GRADER, 0, 0);
    json_auto_t *rows = rows_of(&s, 2, 3.5);
    assert_int_equal(json_array_size(rows), 8);
    assert_row(rows, "candidate.entry", "inclusive", 1, 200);
    assert_row(rows, "candidate.entry", "self", 1, 120);
    assert_row(rows, "a", "inclusive", 2, 40);
    assert_row(rows, "a", "self", 2, 20);
    assert_row(rows, "backend.sync", "inclusive", 1, 40);
    assert_row(rows, "api.clFinish", "self", 1, 40);
    assert_false(json_is_true(
        json_object_get(find_row(rows, "backend.sync", "self"), "observer_sensitive")));
    json_auto_t *other = rows_of(&s, 2, 4);
    assert_true(json_is_true(
        json_object_get(find_row(other, "api.clFinish", "self"), "observer_sensitive")));
}

/* What a candidate has named like the group, and calls within calls, count once. */
static void test_groups_merge(void **state)
{
    (void)state;
    struct script s;
    begin_script(&s);
    add(&s, 0, 0, LOG_PUSH, USER, SYNC, 0);
    add(&s, 0, 10, LOG_PUSH, LOG_DOMAIN_API, FINISH, 0);
    add(&s, 0, 20, LOG_PUSH, LOG_DOMAIN_API, WAIT, 0);
    add(&s, 0, 30, LOG_POP, LOG_DOMAIN_API, 0, 0);
    add(&s, 0, 40, LOG_POP, LOG_DOMAIN_API, 0, 0);
    add(&s, 0, 50, LOG_PUSH, USER, A, 0);
    add(&s, 0, 60, LOG_PUSH, LOG_DOMAIN_API, FINISH, 0);
    add(&s, 0, 65, LOG_POP, LOG_DOMAIN_API, 0, 0);
    add(&s, 0, 70, LOG_POP, USER, 0, 0);
    add(&s, 0, 100, LOG_POP, USER, 0, 0);
    json_auto_t *rows = rows_of(&s, 1, 0);
    /* Once as named, once below "a". */
    assert_row(rows, "backend.sync", "inclusive", 2, (100 + 5) / 2.0);
    assert_row(rows, "backend.sync", "self", 2, (80 + 5) / 2.0);
    assert_row(rows, "api.clFinish", "inclusive", 2, (30 + 5) / 2.0);
    assert_row(rows, "api.clFinish", "self", 2, (20 + 5) / 2.0);
    assert_row(rows, "api.clWaitForEvents", "self", 1, 10);
    assert_row(rows, "a", "self", 1, 15);
}

static void test_groups(void **state)
{
    (void)state;
    static const char *const expected[][2] = {
        {"clEnqueueNDRangeKernel", "backend.submit"},
        {"clEnqueueReadBuffer", "backend.memory"},
        {"clSetKernelArg", "backend.submit"},
        {"clCreateBuffer", "backend.memory"},
        {"clBuildProgram", "backend.module"},
        {"clGetDeviceInfo", "backend.query"},
        {"clFinish", "backend.sync"},
        {"cuLaunchKernelEx_ptsz", "backend.submit"},
        {"cudaLaunchKernel", "backend.submit"},
        {"cudaMalloc", "backend.memory"},
        {"cuMemAlloc_v2", "backend.memory"},
        {"cuMemcpyAsync", "backend.submit"},
        {"cuModuleLoadData", "backend.module"},
        {"cudaDeviceSynchronize", "backend.sync"},
        {"cudaFuncGetAttributes", "backend.query"},
        {"cudaGetDevice", "backend.query"},
        {"cuMemGetInfo_v2", "backend.query"},
        {"cudaFree", "backend.memory"},
        {"nothing known", "backend.query"},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_string_equal(groups_of(expected[i][0]), expected[i][1]);
    assert_true(groups_is_launch("clEnqueueNDRangeKernel"));
    assert_true(groups_is_launch("cuLaunchKernel"));
    assert_false(groups_is_launch("cudaLaunchKernel")); /* its driver's is */
    assert_false(groups_is_launch("clEnqueueCopyBuffer"));
}

static void test_trace(void **state)
{
    (void)state;
    struct script s;
    cleanup_spans struct spans spans = {0};
    begin_script(&s);
    add(&s, 0, 1000, LOG_PUSH, USER, A, 0);
    add(&s, 0, 2000, LOG_PUSH, LOG_DOMAIN_API, FINISH, 0);
    add(&s, 0, 5000, LOG_POP, LOG_DOMAIN_API, 0, 0);
    add(&s, 0, 9000, LOG_POP, USER, 0, 0);
    assert_int_equal(spans_rebuild(&s.logs, 0, &spans, NULL), 0);
    json_auto_t *trace = trace_new();
    assert_int_equal(trace_add(trace, 3, "label", 1, &spans, &s.logs, 0.5, 1000), 0);
    const json_t *events = json_object_get(trace, "traceEvents");
    assert_int_equal(json_array_size(events), 3);
    const json_t *call = json_array_get(events, 2);
    assert_string_equal(text_of(call, "name"), "clFinish");
    assert_string_equal(text_of(call, "cat"), "backend.sync");
    assert_true(json_real_value(json_object_get(call, "ts")) == 0.5);
    assert_true(json_real_value(json_object_get(call, "dur")) == 1.5);
    assert_int_equal(json_integer_value(json_object_get(call, "pid")), 3);
}

/* --- answers --- */

static const char good[] =
    "{\"ok\":true,\"clock\":\"tsc\",\"tick_ns\":0.5,\"calls\":4,\"block\":2,"
    "\"before\":{\"leaf_ns\":10,\"complete_ns\":20},\"after\":{\"leaf_ns\":10,\"complete_ns\":40},"
    "\"end_to_end\":[100.5,200],\"threads\":[{\"events\":1,\"lost\":0},{\"events\":1,\"lost\":2}],"
    "\"threads_lost\":0,\"names\":[\"x\",\"y\"]}";

static int read_answer(const char *text, size_t size, struct answer *ret, kgrade_error *err,
                       struct wire_message *message)
{
    static struct log_event events[2];
    *message = (struct wire_message){
        .json = json_loads(text, 0, NULL), .blob = {(uint8_t *)events, size}, .fd = -1};
    assert_non_null(message->json);
    return answer_read(message, ret, err);
}

static void test_answer(void **state)
{
    (void)state;
    struct wire_message message;
    cleanup_answer struct answer a = {.clock = NULL};
    assert_int_equal(read_answer(good, 32, &a, NULL, &message), 0);
    assert_int_equal(a.calls, 4);
    assert_int_equal(a.n_end_to_end, 2);
    assert_int_equal(a.logs.n_threads, 2);
    assert_ptr_equal(a.logs.events[1], a.logs.events[0] + 1);
    assert_int_equal(a.logs.lost[1], 2);
    assert_string_equal(a.logs.names[1], "y");
    assert_true(answer_drifted(&a));
    json_decref(message.json);
}

/* The good answer with a piece replaced. */
static void assert_refused(const char *from, const char *to, size_t size)
{
    char text[2 * sizeof good];
    struct wire_message message;
    cleanup_answer struct answer a = {.clock = NULL};
    kgrade_error err = {.code = ""};
    const char *at = strstr(good, from);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    assert_int_equal(read_answer(text, size, &a, &err, &message), -1);
    assert_string_equal(err.code, "recorder_tampered");
    json_decref(message.json);
}

static void test_forged_answers(void **state)
{
    (void)state;
    assert_refused("\"tsc\"", "\"sun\"", 32);
    assert_refused("\"tick_ns\":0.5", "\"tick_ns\":0", 32);
    assert_refused("\"tick_ns\":0.5", "\"tick_ns\":1e300", 32);
    assert_refused("\"calls\":4", "\"calls\":0", 32);
    assert_refused("\"calls\":4", "\"calls\":1e18", 32);
    assert_refused("\"block\":2", "\"block\":5", 32);
    assert_refused("100.5", "-1", 32);
    assert_refused("\"events\":1,\"lost\":0", "\"events\":-1,\"lost\":0", 32);
    assert_refused("\"events\":1,\"lost\":0", "\"events\":9223372036854775807,\"lost\":0", 32);
    assert_refused("\"events\":1,\"lost\":0", "\"events\":2,\"lost\":0", 32);
    assert_refused("\"tsc\"", "\"tsc\"", 31);
    assert_refused("\"tsc\"", "\"tsc\"", 16);
    assert_refused("\"threads_lost\":0", "\"threads_lost\":-1", 32);
    assert_refused("\"x\"", "7", 32);
    assert_refused("\"x\"",
                   "\"0123456789012345678901234567890123456789012345678901234567890123456789"
                   "012345678901234567890123456789\"",
                   32);
    assert_refused("[{\"events\":1,\"lost\":0},{\"events\":1,\"lost\":2}]", "[]", 32);
}

int main(void)
{
#define COLLECTOR(test) cmocka_unit_test_setup_teardown(test, open_collector, close_collector)
    const struct CMUnitTest tests[] = {
        COLLECTOR(test_only_while_active),
        COLLECTOR(test_numbered),
        COLLECTOR(test_names),
        COLLECTOR(test_full_log_counts),
        COLLECTOR(test_threads),
        COLLECTOR(test_no_allocation),
        COLLECTOR(test_calibration),
        cmocka_unit_test_teardown(test_monotonic_clock, close_collector),
        COLLECTOR(test_nvtx),
        COLLECTOR(test_many_domains),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_groups_merge),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_forged_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
