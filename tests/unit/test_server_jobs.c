/* What a job tells while all is well: how it ended, events, watchers; and what that costs. */
#include "jobs_help.h"

#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <sys/resource.h>

/* --- results --- */

static void a_job_tells_how_it_ended(void **state)
{
    (void)state;
    open_jobs(&one_at_a_time);
    struct job *job = submit("alice", "5 accepted");
    wait_state(job, JOB_DONE);
    struct job_view view = look(job);
    assert_int_equal(view.verdict, KGRADE_ACCEPTED);
    assert_true(view.score == 2);
    assert_string_equal(view.task, "t");
    assert_string_equal(view.device, "d");
    assert_string_equal(view.owner, "alice");
    assert_non_null(strstr(view.result, view.id)); /* the result bears the job's id */
    assert_false(view.reused);
    assert_true(view.created_ms > 0 && view.started_ms >= view.created_ms &&
                view.ended_ms >= view.started_ms);

    char id[STORE_ID_SIZE];
    strcpy(id, view.id);
    struct job *again = jobs_find(jobs, id, NULL); /* while it is in memory */
    assert_ptr_equal(look(again).result, view.result);
    job_release(again);
    char *result = strdup(view.result);
    job_release(job);

    again = jobs_find(jobs, id, NULL); /* from the store */
    struct job_view stored = look(again);
    assert_string_equal(stored.result, result);
    assert_int_equal(stored.state, JOB_DONE);
    assert_int_equal(stored.verdict, KGRADE_ACCEPTED);
    assert_true(stored.score == 2);
    assert_string_equal(stored.owner, "alice");
    assert_int_equal(stored.events, 2);
    struct job_event event;
    assert_true(job_event(again, 1, &event));
    assert_string_equal(event.name, "done");
    assert_int_equal(event.at_ms, stored.ended_ms);
    job_release(again);
    free(result);

    kgrade_error err;
    const char *const nobody[] = {"", "x", "0123456789abcdef0123456789abcdef",
                                  "0123456789ABCDEF0123456789ABCDEF", "../../etc/passwd"};
    for (size_t i = 0; i < sizeof nobody / sizeof nobody[0]; i++) {
        assert_null(jobs_find(jobs, nobody[i], &err));
        assert_string_equal(err.code, "unknown_grade");
    }
    job_release(NULL);
}

static atomic_uint n_graded;

static void count_graded(void *data, const char *result)
{
    assert_ptr_equal(data, &n_graded);
    assert_int_equal(result[0], '{');
    atomic_fetch_add(&n_graded, 1);
}

static void each_grade_is_reported_once(void **state)
{
    (void)state;
    const struct jobs_options options = {
        .queue = 10, .graded = count_graded, .graded_data = &n_graded};
    atomic_store(&n_graded, 0);
    open_jobs(&options);
    struct job *job = NULL;
    for (int i = 0; i < 5; i++) {
        job_release(job);
        job = submit("a", i == 2 ? "?" : "0 accepted");
    }
    wait_state(job, JOB_DONE);
    assert_int_equal(atomic_load(&n_graded), 4);
    job_release(job);
}

static void a_score_has_an_interval(void **state)
{
    (void)state;
    static const struct {
        const char *result;
        double low, high; /* NaN: unknown */
    } cases[] = {
        {"{\"score\":2,\"cases\":[{\"speedup\":{\"value\":2,\"low\":1,\"high\":4}}]}", 1, 4},
        /* Two cases alike: half-widths are the root of two smaller. */
        {"{\"score\":1,\"cases\":[{\"speedup\":{\"value\":1,\"low\":0.5,\"high\":2}},{},"
         "{\"speedup\":{\"value\":1,\"low\":0.5,\"high\":2}}]}",
         0.61254732653606592, 1.6325269194381528},
        {"{\"score\":0,\"cases\":[{\"speedup\":{\"value\":2,\"low\":1,\"high\":4}}]}", NAN, NAN},
        {"{\"score\":2,\"cases\":[{\"speedup\":{\"value\":2,\"low\":null,\"high\":null}}]}", NAN,
         NAN},
        {"{\"score\":2,\"cases\":[]}", NAN, NAN},
        {"nonsense", NAN, NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct outcome o;
        outcome_read(cases[i].result, &o);
        if (isnan(cases[i].low)) {
            assert_true(isnan(o.score_low) && isnan(o.score_high));
        } else {
            assert_true(fabs(o.score_low - cases[i].low) < 1e-12);
            assert_true(fabs(o.score_high - cases[i].high) < 1e-12);
        }
    }
    struct outcome o;
    outcome_read("{\"task\":{\"hash\":\"abc\"},\"reason\":{\"code\":\"x\",\"retryable\":true}}",
                 &o);
    assert_string_equal(o.code, "x");
    assert_string_equal(o.task_hash, "abc");
    assert_true(o.retryable);
}

/* --- events and watchers --- */

static void events_tell_the_steps_in_order(void **state)
{
    (void)state;
    static const char *const order[] = {"queued",  "building",  "recording", "replaying",
                                        "judging", "profiling", "done"};
    static const unsigned cases[] = {1, 5, 12, 64, 1000};
    open_jobs(&one_at_a_time);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        char source[64];
        struct job_event event = {.name = ""};
        snprintf(source, sizeof source, "0 accepted cases=%u", cases[c]);
        struct job *job = submit("a", source);
        wait_state(job, JOB_DONE);
        unsigned n = look(job).events, at = 0, done = 0;
        assert_in_range(n, 7, JOB_MAX_EVENTS);
        if (cases[c] <= JOB_STEP_PARTS)
            assert_int_equal(n, 2 + 5 * cases[c]);
        for (unsigned i = 0; i < n; i++) {
            assert_true(job_event(job, i, &event));
            assert_true(event.at_ms > 0);
            if (strcmp(event.name, order[at])) {
                assert_string_equal(event.name, order[++at]);
                done = 0;
            }
            assert_true(event.done >= done);
            done = event.done;
        }
        assert_string_equal(event.name, "done");
        assert_false(job_event(job, n, &event));
        job_release(job);
    }
}

static void queued_jobs_tell_how_they_move_up(void **state)
{
    (void)state;
    enum { N = 300 };
    static struct job *all[N];
    struct job_event event, before = {.done = N + 1};
    open_jobs(&one_at_a_time);
    for (int i = 0; i < N; i++) {
        char source[32];
        snprintf(source, sizeof source, "0 accepted%s", i ? "" : " gated");
        const struct jobs_request request = request_of("a", source);
        all[i] = submit_request(&request);
    }
    wait_state(all[N - 1], JOB_QUEUED);
    wait_state(all[0], JOB_RUNNING);
    gate(true);
    wait_state(all[N - 1], JOB_DONE);
    unsigned n = look(all[N - 1]).events, queued = 0;
    assert_in_range(n, 10, JOB_MAX_EVENTS);
    for (unsigned i = 0; i < n; i++) {
        assert_true(job_event(all[N - 1], i, &event));
        if (strcmp(event.name, "queued"))
            continue;
        assert_true(event.done < before.done);
        before = event;
        queued++;
    }
    assert_true(queued >= 8);
    assert_true(before.done <= 1);
    for (int i = 0; i < N; i++)
        job_release(all[i]);
}

struct watcher {
    struct job *job;
    struct job_watch *watch;
    atomic_uint calls;
    atomic_int inside;
    bool ends; /* lets go from within the call in which it is done */
    atomic_bool ended;
};

static void on_change(void *data)
{
    struct watcher *w = data;
    assert_int_equal(atomic_fetch_add(&w->inside, 1), 0); /* calls never overlap */
    atomic_fetch_add(&w->calls, 1);
    bool done = look(w->job).state == JOB_DONE;
    atomic_fetch_sub(&w->inside, 1);
    if (done && w->ends) {
        job_unwatch(w->watch);
        job_release(w->job);
        atomic_store(&w->ended, true);
    }
}

static void watchers_are_told(void **state)
{
    (void)state;
    enum { N = 500 };
    static struct watcher all[N];
    memset(all, 0, sizeof all);
    open_jobs(&one_at_a_time);
    struct job *first = submit("z", "0 accepted gated");
    wait_state(first, JOB_RUNNING);
    for (int i = 0; i < N; i++) {
        char owner[16];
        snprintf(owner, sizeof owner, "owner%d", i % 50);
        const struct jobs_request request = request_of(owner, "0 accepted");
        all[i].job = submit_request(&request);
        all[i].ends = i % 2;
        all[i].watch = job_watch(all[i].job, on_change, &all[i]);
        assert_non_null(all[i].watch);
        assert_null(job_watch(all[i].job, on_change, &all[i]));
    }
    gate(true);
    for (int i = 0; i < N; i++) {
        uint64_t deadline = io_now() + PATIENCE_NS;
        if (!all[i].ends) {
            wait_state(all[i].job, JOB_DONE);
            job_unwatch(all[i].watch);
            job_release(all[i].job);
        }
        while (all[i].ends && !atomic_load(&all[i].ended) && io_now() < deadline)
            sleep_ms(1);
        assert_true(!all[i].ends || atomic_load(&all[i].ended));
        assert_true(atomic_load(&all[i].calls) >= 2);
    }
    job_unwatch(NULL);
    job_release(first);
}

static void no_call_comes_after_unwatch(void **state)
{
    (void)state;
    open_jobs(&one_at_a_time);
    for (int i = 0; i < 200; i++) {
        struct watcher *w = calloc(1, sizeof *w);
        const struct jobs_request request = request_of("a", "0 accepted");
        w->job = submit_request(&request);
        w->watch = job_watch(w->job, on_change, w);
        if (i % 3)
            sleep_ms(i % 4);
        if (i % 2)
            job_unwatch(w->watch);
        job_release(w->job); /* ends the watch as well */
        free(w);             /* a sanitizer sees who still calls */
    }
}

/* --- cost --- */

static void look_on(void *data)
{
    atomic_fetch_add((atomic_uint *)data, 1);
}

static void waiting_costs_little_memory(void **state)
{
    (void)state;
    enum { N = 500, SOURCE = 32 << 10 };
    static struct job *all[N];
    static char source[SOURCE + 1];
    atomic_uint calls = 0;
    unsigned due = 0;
    memset(source, ' ', SOURCE);
    memcpy(source, "0 accepted", 10);
    open_jobs(&one_at_a_time);
    struct job *first = submit("z", "0 accepted gated");
    wait_state(first, JOB_RUNNING);
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < N; i++) {
        const struct jobs_request request = request_of("a", source);
        all[i] = submit_request(&request);
        assert_non_null(job_watch(all[i], look_on, &calls));
        due += look(all[i]).state == JOB_STORING; /* or the change came before the watcher */
        wait_state(all[i], JOB_QUEUED);
    }
    size_t after = mallinfo2().uordblks;
    /* SQLite's page cache, up to 2 MiB, is in it. */
    assert_true(after < before + (6u << 20));
    AWAIT(atomic_load(&calls) >= due);
    for (int i = N - 1; i >= 0; i--)
        job_release(all[i]);
    job_release(first);
}

static void idle_threads_sleep(void **state)
{
    (void)state;
    const struct jobs_options options = {.queue = 10, .builds_ahead = 3};
    struct rusage before, after;
    long most = LONG_MAX;
    open_jobs(&options);
    struct job *job = submit("a", "0 accepted");
    wait_state(job, JOB_DONE);
    atomic_uint calls = 0;
    assert_non_null(job_watch(job, look_on, &calls));
    /* Threads that poll are many more in each half second; those that have something left to tidy up are so in the first. */
    for (int i = 0; i < 20 && most > 20; i++) {
        getrusage(RUSAGE_SELF, &before);
        sleep_ms(500);
        getrusage(RUSAGE_SELF, &after);
        most = after.ru_nvcsw - before.ru_nvcsw;
    }
    assert_true(most <= 20);
    job_release(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        jobs_test(a_job_tells_how_it_ended),
        jobs_test(each_grade_is_reported_once),
        cmocka_unit_test(a_score_has_an_interval),
        jobs_test(events_tell_the_steps_in_order),
        jobs_test(queued_jobs_tell_how_they_move_up),
        jobs_test(watchers_are_told),
        jobs_test(no_call_comes_after_unwatch),
        jobs_test(waiting_costs_little_memory),
        jobs_test(idle_threads_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
