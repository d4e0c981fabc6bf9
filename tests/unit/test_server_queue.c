/*
 * The queue of the server, with an engine that grades as it is told: each job names its duration in its source.  Owners
 * are freed the moment they are answered, so that a sanitizer sees a queue that still looks at one.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#undef fail /* cmocka's, which is not used here */
#include "sandbox/base/fail.h"
#include "sandbox/base/io.h"
#include "server/jobs/queue.h"

struct kgrade {
    atomic_uint graded;
};

struct kgrade_result {
    char json[32];
};

static struct kgrade engine;

static void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* "50": 50 ms that can be cancelled; "!50": that cannot; "?": cannot be graded at all. */
int kgrade_grade(kgrade *e, const kgrade_request *request, kgrade_progress progress, void *data,
                 kgrade_result **ret, kgrade_error *error)
{
    atomic_fetch_add(&e->graded, 1);
    if (request->source[0] == '?')
        return fail(error, "unknown_task", NULL, "There is no such task.");
    bool deaf = request->source[0] == '!';
    for (long left = strtol(request->source + deaf, NULL, 10); left > 0; left -= 5) {
        sleep_ms(5);
        if (!deaf && !progress(data, "recording", 0, 1))
            return fail(error, "cancelled", NULL, "The grade was cancelled.");
    }
    *ret = calloc(1, sizeof **ret);
    snprintf((*ret)->json, sizeof(*ret)->json, "{\"source\":\"%.10s\"}", request->source);
    return 0;
}

kgrade_verdict kgrade_result_verdict(const kgrade_result *result)
{
    (void)result;
    return KGRADE_ACCEPTED;
}

double kgrade_result_score(const kgrade_result *result)
{
    (void)result;
    return 1.5;
}

const char *kgrade_result_json(const kgrade_result *result)
{
    return result->json;
}

void kgrade_result_free(kgrade_result *result)
{
    free(result);
}

struct owner {
    struct job *job;
    bool gone;
    unsigned number;
};

#define MAX_ANSWERS 64

static struct {
    pthread_mutex_t lock;
    unsigned n;
    unsigned order[MAX_ANSWERS];
    char what[MAX_ANSWERS][48]; /* JSON or code */
} answers = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void answered(void *data)
{
    struct owner *owner = data;
    const struct job_answer *a = job_answer(owner->job);
    pthread_mutex_lock(&answers.lock);
    answers.order[answers.n++] = owner->number;
    snprintf(answers.what[owner->number], sizeof answers.what[0], "%.47s",
             a->json ? a->json : a->error.code);
    pthread_mutex_unlock(&answers.lock);
    job_free(owner->job);
    free(owner);
}

static bool abandoned(void *data)
{
    const struct owner *owner = data;
    return owner->gone;
}

static const struct job_events events = {answered, abandoned};

static int submit(struct queue *queue, unsigned number, const char *source, bool gone,
                  unsigned *ret_ahead, kgrade_error *err)
{
    json_t *root = json_string(source);
    const kgrade_request request = {"t", "d", NULL, json_string_value(root),
                                    json_string_length(root)};
    struct owner *owner = calloc(1, sizeof *owner);
    *owner = (struct owner){job_new(root, &request, &events, owner), gone, number};
    int failed = queue_submit(queue, owner->job, ret_ahead, err);
    if (failed) {
        job_free(owner->job);
        free(owner);
    }
    return failed;
}

static unsigned n_answers(void)
{
    pthread_mutex_lock(&answers.lock);
    unsigned n = answers.n;
    pthread_mutex_unlock(&answers.lock);
    return n;
}

static void wait_for_answers(unsigned n)
{
    for (int i = 0; i < 2000 && n_answers() < n; i++)
        sleep_ms(5);
    assert_int_equal(n_answers(), n);
}

static void wait_for_running(struct queue *queue, unsigned n)
{
    for (int i = 0; i < 2000 && queue_counts(queue).running != n; i++)
        sleep_ms(5);
    assert_int_equal(queue_counts(queue).running, n);
}

static struct queue *start(unsigned workers, unsigned limit)
{
    struct queue *queue = NULL;
    memset(answers.what, 0, sizeof answers.what);
    answers.n = 0;
    atomic_store(&engine.graded, 0);
    assert_int_equal(queue_start(&engine, workers, limit, &queue, NULL), 0);
    return queue;
}

static void stop(struct queue *queue)
{
    queue_drain(queue);
    assert_true(queue_stop(queue, io_now() + 10 * IO_NS_PER_S));
}

static void test_order(void **state)
{
    (void)state;
    struct queue *queue = start(1, 10);
    unsigned ahead = 99;
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(submit(queue, i, i == 5 ? "?" : "10", false, &ahead, NULL), 0);
        assert_true(ahead <= i);
    }
    wait_for_answers(10);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(answers.order[i], i);
        assert_string_equal(answers.what[i], i == 5 ? "unknown_task" : "{\"source\":\"10\"}");
    }
    assert_int_equal(queue_counts(queue).graded, 10);
    assert_true(queue_estimate_s(queue) == 1);
    stop(queue);
}

static void test_full(void **state)
{
    (void)state;
    for (unsigned limit = 0; limit <= 2; limit++) {
        struct queue *queue = start(2, limit);
        kgrade_error err = {.code = ""};
        unsigned ahead;
        for (unsigned i = 0; i < 2 + limit; i++)
            assert_int_equal(submit(queue, i, "100", false, &ahead, &err), 0);
        assert_int_equal(ahead, 1 + limit);
        assert_int_equal(submit(queue, 50, "100", false, &ahead, &err), -1);
        assert_string_equal(err.code, "queue_full");
        wait_for_answers(2 + limit);
        assert_int_equal(submit(queue, 51, "0", false, &ahead, &err), 0);
        wait_for_answers(3 + limit);
        stop(queue);
    }
}

static void test_abandoned(void **state)
{
    (void)state;
    struct queue *queue = start(1, 10);
    unsigned ahead;
    submit(queue, 0, "50", false, &ahead, NULL);
    submit(queue, 1, "50", true, &ahead, NULL);
    submit(queue, 2, "50", false, &ahead, NULL);
    wait_for_answers(3);
    assert_string_equal(answers.what[1], "client_gone");
    assert_int_equal(atomic_load(&engine.graded), 2);
    stop(queue);
}

static void test_drain(void **state)
{
    (void)state;
    struct queue *queue = start(1, 10);
    kgrade_error err = {.code = ""};
    unsigned ahead;
    submit(queue, 0, "200", false, &ahead, NULL);
    wait_for_running(queue, 1);
    for (unsigned i = 1; i < 5; i++)
        submit(queue, i, "200", false, &ahead, NULL);
    queue_drain(queue);
    assert_int_equal(n_answers(), 4);
    assert_string_equal(answers.what[4], "shutting_down");
    assert_int_equal(submit(queue, 5, "0", false, &ahead, &err), -1);
    assert_string_equal(err.code, "shutting_down");
    assert_true(queue_stop(queue, io_now() + 10 * IO_NS_PER_S));
    assert_string_equal(answers.what[0], "{\"source\":\"200\"}");
    assert_int_equal(atomic_load(&engine.graded), 1);
}

static void test_cancel(void **state)
{
    (void)state;
    struct queue *queue = start(2, 10);
    unsigned ahead;
    submit(queue, 0, "60000", false, &ahead, NULL);
    submit(queue, 1, "!400", false, &ahead, NULL);
    wait_for_running(queue, 2);
    queue_drain(queue);
    uint64_t began = io_now();
    queue_cancel(queue);
    assert_int_equal(n_answers(), 2);
    assert_true(io_now() - began < 300 * IO_NS_PER_MS);
    assert_string_equal(answers.what[0], "shutting_down");
    assert_string_equal(answers.what[1], "shutting_down");
    /* The deaf one is still at it. */
    assert_false(queue_stop(queue, io_now() + 50 * IO_NS_PER_MS));
    assert_true(queue_stop(queue, io_now() + 10 * IO_NS_PER_S));
    assert_int_equal(n_answers(), 2);
}

/* Everything at once: for the sanitizers. */
static void test_races(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        struct queue *queue = start(3, 8);
        unsigned accepted = 0, ahead;
        for (unsigned i = 0; i < 20; i++)
            accepted += !submit(queue, i, i % 3 ? "0" : "5", i % 7 == 0, &ahead, NULL);
        if (round % 2)
            sleep_ms(round % 10);
        queue_drain(queue);
        if (round % 3 == 0)
            queue_cancel(queue);
        assert_true(queue_stop(queue, io_now() + 10 * IO_NS_PER_S));
        assert_int_equal(n_answers(), accepted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),     cmocka_unit_test(test_full),
        cmocka_unit_test(test_abandoned), cmocka_unit_test(test_drain),
        cmocka_unit_test(test_cancel),    cmocka_unit_test(test_races),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
