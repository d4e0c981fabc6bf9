/* The collector of ranges, and what NVTX gives it. */
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
#include <string.h>

#include "grader/profile/collector.h"
#include "grader/profile/spans.h"
#include "sandbox/base/io.h"

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

static void run_thread(void *(*body)(void *), const char *name)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, body, (void *)(uintptr_t)name), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static pthread_barrier_t all_have_pushed;

static void *push_and_stay(void *data)
{
    push_on_thread(data);
    pthread_barrier_wait(&all_have_pushed);
    return NULL;
}

/* As many at once as there are logs, this one included, and two more. */
static void test_threads(void **state)
{
    (void)state;
    enum { OTHERS = COLLECTOR_MAX_THREADS + 1 };
    static char name[] = "other";
    pthread_t threads[OTHERS];
    pthread_barrier_init(&all_have_pushed, NULL, OTHERS);
    collector_resume();
    collector_push(USER, "main");
    for (unsigned i = 0; i < OTHERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, push_and_stay, name), 0);
    for (unsigned i = 0; i < OTHERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    collector_pop(USER);
    collector_pause();
    pthread_barrier_destroy(&all_have_pushed);
    assert_int_equal(collector_threads(), COLLECTOR_MAX_THREADS);
    assert_int_equal(collector_log(0).n, 2);
    for (unsigned i = 1; i < COLLECTOR_MAX_THREADS; i++) {
        assert_event(i, 0, LOG_PUSH, "other");
        assert_int_equal(collector_log(i).n, 3);
    }
    assert_int_equal(collector_threads_lost(), 4);
}

static void *leave_open(void *data)
{
    collector_push(USER, data);
    return NULL;
}

/* The logs as they are outside. */
static struct span_logs outside(void)
{
    struct span_logs logs = {.n_threads = collector_threads(),
                             .threads_lost = collector_threads_lost()};
    for (unsigned i = 0; i < logs.n_threads; i++) {
        logs.events[i] = collector_log(i).events;
        logs.n_events[i] = collector_log(i).n;
        logs.lost[i] = collector_log(i).lost;
    }
    return logs;
}

/* One after the other in the same log, however many they are. */
static void test_threads_that_end(void **state)
{
    (void)state;
    enum { MANY = 5 * COLLECTOR_MAX_THREADS };
    cleanup_spans struct spans spans = {0};
    kgrade_error err = {.code = ""};
    collector_resume();
    for (unsigned i = 0; i < MANY; i++)
        run_thread(push_on_thread, "short-lived");
    collector_pause();
    assert_int_equal(collector_threads(), 2);
    assert_int_equal(collector_threads_lost(), 0);
    struct span_logs logs = outside();
    assert_int_equal(spans_rebuild(&logs, 1, &spans, &err), 0);
    assert_int_equal(spans.n, MANY);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(spans.list[i].parent, SPAN_NONE);

    /* What one leaves open is no parent to what the next one does. */
    spans_free(&spans);
    collector_clear();
    collector_resume();
    run_thread(leave_open, "left");
    run_thread(push_on_thread, "short-lived");
    collector_pause();
    logs = outside();
    assert_int_equal(spans_rebuild(&logs, 1, &spans, &err), -1);
    assert_string_equal(err.code, "range_unclosed");
    assert_non_null(strstr(err.message, "thread ends"));
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

/* An API whose calls are reported at a cost. */
struct reported {
    bool on, silent;
    unsigned changes;
};

static void wait_ns(uint64_t ns)
{
    uint64_t end = io_now() + ns;
    while (io_now() < end)
        ;
}

static void report(void *data, bool on)
{
    struct reported *r = data;
    r->on = on;
    r->changes++;
}

static void make_call(void *data)
{
    const struct reported *r = data;
    if (r->on)
        wait_ns(2000);
    if (r->on && !r->silent)
        collector_push(USER, "call");
    wait_ns(1000);
    if (r->on && !r->silent)
        collector_pop(USER);
    if (r->on)
        wait_ns(2000);
}

static void test_calibration_of_calls(void **state)
{
    (void)state;
    struct reported r = {.on = false};
    const struct collector_calls calls = {report, make_call, &r};
    struct collector_cost cost;
    collector_resume();
    collector_push(USER, "kept");
    collector_pop(USER);
    collector_pause();
    collector_calibrate_calls(&calls, &cost);
    assert_false(collector_is_active() || r.on);
    assert_true(r.changes > 2 && r.changes % 2 == 0);
    assert_int_equal(collector_log(0).n, 2);
    assert_event(0, 0, LOG_PUSH, "kept");
    /* The machine can only add to it. */
    assert_true(cost.complete_ns > 3900);
    assert_true(cost.leaf_ns < cost.complete_ns / 2);
    r.silent = true;
    collector_calibrate_calls(&calls, &cost);
    assert_true(cost.complete_ns == 0 && cost.leaf_ns == 0);
    assert_int_equal(collector_log(0).n, 2);
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

int main(void)
{
#define COLLECTOR(test) cmocka_unit_test_setup_teardown(test, open_collector, close_collector)
    const struct CMUnitTest tests[] = {
        COLLECTOR(test_only_while_active),
        COLLECTOR(test_numbered),
        COLLECTOR(test_names),
        COLLECTOR(test_full_log_counts),
        COLLECTOR(test_threads),
        COLLECTOR(test_threads_that_end),
        COLLECTOR(test_no_allocation),
        COLLECTOR(test_calibration),
        COLLECTOR(test_calibration_of_calls),
        cmocka_unit_test_teardown(test_monotonic_clock, close_collector),
        COLLECTOR(test_nvtx),
        COLLECTOR(test_many_domains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
