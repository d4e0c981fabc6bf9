/* Answers of processes that made a phase of a profile, and forged ones. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "grader/profile/answer.h"

static const char good[] =
    "{\"ok\":true,\"clock\":\"tsc\",\"tick_ns\":0.5,\"calls\":4,\"block\":2,"
    "\"before\":{\"leaf_ns\":10,\"complete_ns\":20,\"call_leaf_ns\":30,\"call_complete_ns\":50},"
    "\"after\":{\"leaf_ns\":10,\"complete_ns\":40,\"call_leaf_ns\":30,\"call_complete_ns\":60},"
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_forged_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
