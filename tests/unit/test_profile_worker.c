/* How many calls a phase of a profile makes, with a device of which only the waits take time. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the above first */
#include <cmocka.h>
#include <string.h>
#include <time.h>

#include "grader/profile/collector.h"
#include "grader/profile/worker.h"
#include "grader/record/record.h"
#include "sandbox/base/cleanup.h"

static struct {
    long wait_ms;    /* of the device, after each block */
    unsigned ranges; /* that a call names */
    unsigned calls, blocks;
} fake;

static int begin(void *state, enum record_mode mode, kgrade_error *err)
{
    (void)state, (void)mode, (void)err;
    return 0;
}

static int end(void *state, enum record_mode mode, struct recording *recording, kgrade_error *err)
{
    (void)state, (void)mode, (void)recording, (void)err;
    fake.blocks++;
    nanosleep(&(struct timespec){.tv_nsec = fake.wait_ms * 1000000}, NULL);
    return 0;
}

static void entry(void)
{
    fake.calls++;
    for (unsigned i = 0; i < fake.ranges; i++) {
        collector_push(LOG_DOMAIN_DEFAULT, "range");
        collector_pop(LOG_DOMAIN_DEFAULT);
    }
}

static void progress(const char *stage)
{
    (void)stage;
}

static json_t *run_warm(int budget_ms)
{
    static const struct record_device device = {.name = "fake", .begin = begin, .end = end};
    json_auto_t *request = json_pack("{s:s, s:i}", "phase", "warm", "budget_ms", budget_ms);
    cleanup_bytes struct bytes log = {0};
    struct call *call = NULL;
    json_t *answer = NULL;
    kgrade_error err = {.code = ""};
    assert_int_equal(collector_open(COLLECTOR_CLOCK_BEST, &err), 0);
    assert_int_equal(call_new_plain(&call, &err), 0);
    const struct profile_target target = {
        .device = &device, .call = call, .entry = entry, .progress = progress};
    fake.calls = fake.blocks = 0;
    assert_int_equal(profile_phase(&target, request, &answer, &log, &err), 0);
    call_free(call);
    collector_close();
    return answer;
}

static json_int_t number(const json_t *answer, const char *key)
{
    return json_integer_value(json_object_get(answer, key));
}

/* One call takes longer than the budget: there are few, and still three blocks of each kind. */
static void test_slow_calls_are_few(void **state)
{
    (void)state;
    fake.wait_ms = 20;
    fake.ranges = 0;
    json_auto_t *answer = run_warm(5);
    assert_int_equal(number(answer, "block"), 1);
    assert_int_equal(number(answer, "calls"), 3);
    assert_int_equal(json_array_size(json_object_get(answer, "end_to_end")), 3);
    assert_int_equal(fake.calls, 3 + 3 + 3); /* the first, one for the log, one for the time */
}

static void test_quick_calls_come_in_blocks(void **state)
{
    (void)state;
    fake.wait_ms = 0;
    fake.ranges = 1;
    json_auto_t *answer = run_warm(PROFILE_MAX_BUDGET_MS);
    json_int_t block = number(answer, "block"), calls = number(answer, "calls");
    size_t blocks = json_array_size(json_object_get(answer, "end_to_end"));
    assert_int_equal(block, 16);
    assert_true(blocks >= 5);
    assert_int_equal(calls, block * (json_int_t)blocks);
    const json_t *thread = json_array_get(json_object_get(answer, "threads"), 0);
    assert_int_equal(number(thread, "events"), 4 * calls);
    assert_int_equal(number(thread, "lost"), 0);
}

/* There are no more calls than the log has room for. */
static void test_talkative_calls_fit_the_log(void **state)
{
    (void)state;
    fake.wait_ms = 0;
    fake.ranges = COLLECTOR_EVENTS / 8;
    json_auto_t *answer = run_warm(PROFILE_MAX_BUDGET_MS);
    const json_t *thread = json_array_get(json_object_get(answer, "threads"), 0);
    assert_int_equal(number(answer, "calls"), 3);
    assert_int_equal(number(thread, "lost"), 0);
}

static void test_time_grows_with_the_budget(void **state)
{
    (void)state;
    static const kgrade engine = {.options = {.record_timeout_s = 7}};
    assert_true(record_phase_ns(&engine, NULL, 0) == 7 * IO_NS_PER_S);
    assert_true(record_phase_ns(&engine, NULL, PROFILE_MAX_BUDGET_MS) >=
                7 * IO_NS_PER_S + 2ull * PROFILE_MAX_BUDGET_MS * IO_NS_PER_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_calls_are_few),
        cmocka_unit_test(test_quick_calls_come_in_blocks),
        cmocka_unit_test(test_talkative_calls_fit_the_log),
        cmocka_unit_test(test_time_grows_with_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
