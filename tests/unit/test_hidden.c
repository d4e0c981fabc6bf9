/* Recording hidden cases beside the public ones, with a recorder that follows a script. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "grader/grade/hidden.h"
#include "grader/grade/jails.h"
#include "grader/grade/state.h"
#include "grader/recording.h"

static const struct device device = {.name = "cuda"};
static struct task task = {.name = "add", .n_dims = 1};
static const struct task_case publics[] = {{.dims = {1}}, {.dims = {8}}};
static const struct task_case hiddens[] = {{.dims = {7}}, {.dims = {8}}, {.dims = {9}}};

static struct {
    bool fails, waits_to_be_stopped;
    size_t n;                      /* cases that were asked for */
    int64_t dims[GRADE_MAX_CASES]; /* theirs */
    bool was_stopped;
} script;

int record_cases(kgrade *engine, const struct record_request *request, struct recording *recording,
                 struct host_overhead *overheads, record_progress progress, void *data,
                 struct finding *finding)
{
    (void)engine, (void)overheads, (void)data;
    if (progress || !request->secret)
        return -1;
    script.n = request->n_cases;
    for (size_t i = 0; i < request->n_cases; i++) {
        script.dims[i] = request->cases[i].dims[0];
        if (!recording_add_call(recording, request->cases[i].dims))
            return -1;
    }
    while (script.waits_to_be_stopped && jails_go_on())
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    script.was_stopped = !jails_go_on();
    if (script.fails || script.was_stopped)
        return finding_set(finding, KGRADE_WRONG_ANSWER, "hidden_case_failed", NULL, "Failed.");
    static const struct worker none = WORKER_NONE;
    request->graves->workers[request->graves->n++] = none;
    return 0;
}

static struct hidden *begin(size_t n)
{
    const struct record_request request = {
        .device = &device, .task = &task, .cases = hiddens, .n_cases = n, .secret = true};
    return hidden_begin(NULL, &request, publics, sizeof publics / sizeof publics[0]);
}

static struct recording *with_publics(void)
{
    struct recording *r = recording_new(device.name, &task);
    assert_non_null(r);
    for (size_t i = 0; i < sizeof publics / sizeof publics[0]; i++)
        assert_non_null(recording_add_call(r, publics[i].dims));
    return r;
}

static void calls_come_to_those_of_the_public_cases(void **state)
{
    (void)state;
    struct recording *r = with_publics();
    struct graves graves = {.n = 0};
    struct finding f = {.log = NULL};
    memset(&script, 0, sizeof script);
    struct hidden *h = begin(3);
    assert_non_null(h);
    assert_int_equal(hidden_end(h, true, r, &graves, &f), 0);
    /* 8 is public. */
    assert_int_equal(script.n, 2);
    assert_int_equal(script.dims[0], 7);
    assert_int_equal(script.dims[1], 9);
    assert_int_equal(r->n_calls, 4);
    assert_non_null(recording_find_call(r, (int64_t[]){9}));
    recording_free(r);
}

static void nothing_to_record_is_nothing_begun(void **state)
{
    (void)state;
    memset(&script, 0, sizeof script);
    assert_null(begin(0));
    assert_int_equal(script.n, 0);
}

static void a_failure_is_found(void **state)
{
    (void)state;
    struct recording *r = with_publics();
    struct graves graves = {.n = 0};
    struct finding f = {.log = NULL};
    memset(&script, 0, sizeof script);
    script.fails = true;
    struct hidden *h = begin(3);
    assert_non_null(h);
    assert_int_equal(hidden_end(h, true, r, &graves, &f), -1);
    assert_string_equal(f.reason.code, "hidden_case_failed");
    assert_int_equal(r->n_calls, 2);
    finding_free(&f);
    recording_free(r);
}

/* What the public cases have come to stands. */
static void who_is_not_wanted_is_stopped(void **state)
{
    (void)state;
    struct recording *r = with_publics();
    struct graves graves = {.n = 0};
    struct finding f = {.log = NULL};
    memset(&script, 0, sizeof script);
    script.waits_to_be_stopped = true;
    finding_set(&f, KGRADE_REFUSED, "nothing_enqueued", NULL, "Nothing.");
    struct hidden *h = begin(3);
    assert_non_null(h);
    assert_int_equal(hidden_end(h, false, r, &graves, &f), -1);
    assert_true(script.was_stopped);
    assert_string_equal(f.reason.code, "nothing_enqueued");
    assert_int_equal(r->n_calls, 2);
    finding_free(&f);
    recording_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_come_to_those_of_the_public_cases),
        cmocka_unit_test(nothing_to_record_is_nothing_begun),
        cmocka_unit_test(a_failure_is_found),
        cmocka_unit_test(who_is_not_wanted_is_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
