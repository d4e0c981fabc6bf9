/* Nesting, rebuilt from logs, and the trace made of it. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first */
#include <cmocka.h>
#include <string.h>

#include "grader/profile/trace.h"
#include "profile_help.h"

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

/* What is beyond it is counted where who reads the trace finds it. */
static void test_a_trace_has_a_limit(void **state)
{
    (void)state;
    enum { BEYOND = 3 };
    static struct span list[TRACE_MAX_SPANS + BEYOND];
    const struct spans spans = {list, TRACE_MAX_SPANS + BEYOND};
    const struct span_logs logs = {.names = names, .n_names = 6};
    json_auto_t *trace = trace_new();
    for (unsigned process = 1; process <= 2; process++)
        assert_int_equal(trace_add(trace, process, "label", 0, &spans, &logs, 1, 0), 0);
    /* One more of each process is its name. */
    assert_int_equal(json_array_size(json_object_get(trace, "traceEvents")),
                     2 * (TRACE_MAX_SPANS + 1));
    const json_t *other = json_object_get(trace, "otherData");
    assert_int_equal(json_integer_value(json_object_get(other, "ranges_left_out")), 2 * BEYOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_a_trace_has_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
