/* The figures of ranges. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first */
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grader/profile/groups.h"
#include "grader/profile/rows.h"
#include "profile_help.h"
#include "sandbox/base/cleanup.h"

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

/* A call of the API costs twice what a range does. */
static json_t *rows_of(const struct script *s, double tick_ns, double observer_ns)
{
    const struct rows_observer observer = {observer_ns, 2 * observer_ns};
    static const struct rows_common common = {"node", "op", "back"};
    cleanup_spans struct spans spans = {0};
    cleanup_rows struct rows *rows = rows_new();
    json_t *json = json_array();
    assert_int_equal(spans_rebuild(&s->logs, 0, &spans, NULL), 0);
    assert_int_equal(rows_add(rows, &spans, &s->logs, 0, tick_ns, NULL), 0);
    assert_int_equal(rows_write(rows, &common, "warm", "p", &observer, json), 0);
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
                                       "depth",
                                       "path"};
    double samples[] = {3, 1, 2, 10};
    const struct rows_common common = {"node", "op", "back"};
    json_auto_t *path = json_pack("[s]", "around");
    json_auto_t *row = rows_one(&common, "cold", "x", "self", 8, samples, 4, "p", 2, 0.3, path);
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
    json_auto_t *rows = rows_of(&s, 2, 1.75);
    assert_int_equal(json_array_size(rows), 8);
    assert_row(rows, "candidate.entry", "inclusive", 1, 200);
    assert_row(rows, "candidate.entry", "self", 1, 120);
    assert_row(rows, "a", "inclusive", 2, 40);
    assert_row(rows, "a", "self", 2, 20);
    assert_row(rows, "backend.sync", "inclusive", 1, 40);
    assert_row(rows, "api.clFinish", "self", 1, 40);
    assert_false(json_is_true(
        json_object_get(find_row(rows, "backend.sync", "self"), "observer_sensitive")));
    json_auto_t *other = rows_of(&s, 2, 2);
    assert_true(json_number_value(json_object_get(find_row(other, "a", "self"), "observer_ns")) ==
                2);
    assert_true(json_number_value(
                    json_object_get(find_row(other, "backend.sync", "self"), "observer_ns")) == 4);
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
    static const char *const order[] = {"backend.sync", "api.clFinish", "api.clWaitForEvents", "a",
                                        "backend.sync", "api.clFinish"};
    static const int depths[] = {0, 1, 1, 1, 2, 3};
    static const double inclusive[] = {100, 30, 10, 20, 5, 5}, self[] = {80, 20, 10, 15, 5, 5};
    assert_int_equal(json_array_size(rows), 12);
    for (size_t i = 0; i < 6; i++) {
        const json_t *first = json_array_get(rows, 2 * i),
                     *second = json_array_get(rows, 2 * i + 1);
        assert_string_equal(text_of(first, "range"), order[i]);
        assert_int_equal(json_integer_value(json_object_get(first, "depth")), depths[i]);
        assert_true(json_number_value(json_object_get(first, "mean")) == inclusive[i]);
        assert_true(json_number_value(json_object_get(second, "mean")) == self[i]);
    }
}

static void assert_path(const json_t *row, const char *range, const char *path)
{
    json_auto_t *expected = json_loads(path, 0, NULL);
    assert_non_null(expected);
    assert_string_equal(text_of(row, "range"), range);
    assert_true(json_equal(json_object_get(row, "path"), expected));
}

/* The same name in two places is two ranges, each behind what is around it, whenever it first appeared. */
static void test_places(void **state)
{
    (void)state;
    struct script s;
    begin_script(&s);
    /* a [ b [] ] b [ a [] ] a [ b [] a [] ] */
    static const int8_t script[] = {A, B, -1, -1, B, A, -1, -1, A, B, -1, A, -1, -1};
    for (size_t i = 0; i < sizeof script; i++)
        add(&s, 0, 10 * i, script[i] < 0 ? LOG_POP : LOG_PUSH, USER,
            script[i] < 0 ? 0 : (unsigned)script[i], 0);
    json_auto_t *rows = rows_of(&s, 1, 0);
    assert_int_equal(json_array_size(rows), 10);
    assert_path(json_array_get(rows, 0), "a", "[]");
    assert_path(json_array_get(rows, 2), "b", "[\"a\"]");
    assert_path(json_array_get(rows, 4), "a", "[\"a\"]");
    assert_path(json_array_get(rows, 6), "b", "[]");
    assert_path(json_array_get(rows, 8), "a", "[\"b\"]");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, 2), "count")), 2);
    assert_true(json_real_value(json_object_get(json_array_get(rows, 0), "mean")) == (30 + 50) / 2);
}

static int add_spans(struct span *list, size_t n, kgrade_error *err)
{
    static char texts[ROWS_MAX + 1][LOG_MAX_NAME];
    static const char *all[ROWS_MAX + 1];
    cleanup_rows struct rows *rows = rows_new();
    for (size_t i = 0; i <= ROWS_MAX; i++) {
        snprintf(texts[i], sizeof texts[i], "range %zu", i);
        all[i] = texts[i];
    }
    const struct spans spans = {list, n};
    const struct span_logs logs = {.names = all, .n_names = ROWS_MAX + 1};
    return rows_add(rows, &spans, &logs, 0, 1, err);
}

static void test_limits(void **state)
{
    (void)state;
    static struct span wide[ROWS_MAX + 1];
    struct span deep[ROWS_MAX_DEPTH + 2];
    kgrade_error err = {.code = ""};
    for (uint32_t i = 0; i <= ROWS_MAX; i++)
        wide[i] = (struct span){.name = i, .parent = SPAN_NONE};
    assert_int_equal(add_spans(wide, ROWS_MAX, &err), 0);
    assert_int_equal(add_spans(wide, ROWS_MAX + 1, &err), -1);
    assert_string_equal(err.code, "too_many_ranges");
    assert_non_null(strstr(err.message, "4096"));
    for (uint32_t i = 0; i < ROWS_MAX_DEPTH + 2; i++)
        deep[i] = (struct span){.name = 0, .parent = i ? i - 1 : SPAN_NONE};
    assert_int_equal(add_spans(deep, ROWS_MAX_DEPTH + 1, &err), 0);
    assert_int_equal(add_spans(deep, ROWS_MAX_DEPTH + 2, &err), -1);
    assert_string_equal(err.code, "too_many_ranges");
    assert_non_null(strstr(err.message, "32 deep"));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),         cmocka_unit_test(test_rows),
        cmocka_unit_test(test_groups_merge), cmocka_unit_test(test_places),
        cmocka_unit_test(test_limits),       cmocka_unit_test(test_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
