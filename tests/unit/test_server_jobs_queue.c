/* The queue of jobs while all is well: order, fairness, limits. */
#include "jobs_help.h"

/* --- order --- */

static void jobs_of_one_owner_come_in_order(void **state)
{
    (void)state;
    struct job *all[8];
    open_jobs(&one_at_a_time);
    all[0] = submit("a", "0 accepted gated");
    wait_begun(1);
    for (size_t i = 1; i < 8; i++)
        all[i] = submit("a", i == 5 ? "?" : "1 wrong_answer");
    for (size_t i = 1; i < 8; i++)
        assert_int_equal(look(all[i]).ahead, i);
    struct jobs_counts counts;
    jobs_count(jobs, "d", &counts);
    assert_int_equal(counts.waiting, 7);
    assert_int_equal(counts.running, 1);
    assert_int_equal(counts.limit, 1000);
    assert_true(counts.oldest_s > 0);
    jobs_count(jobs, "e", &counts);
    assert_int_equal(counts.waiting + counts.running, 0);
    gate(true);
    for (size_t i = 0; i < 8; i++)
        wait_state(all[i], i == 5 ? JOB_CANCELLED : JOB_DONE);
    for (size_t i = 0; i < 8; i++)
        assert_string_equal(engine.ids[i], look(all[i]).id);
    assert_int_equal(engine.most, 1);
    assert_string_equal(look(all[5]).error.code, "unknown_task");
    assert_cancelled(all[5], "unknown_task");
    jobs_count(jobs, NULL, &counts);
    assert_int_equal(counts.done, 7);
    assert_int_equal(counts.waiting + counts.running, 0);
    assert_true(jobs_estimate_s(jobs) >= 1);
    for (size_t i = 0; i < 8; i++)
        job_release(all[i]);
}

static void owners_take_turns(void **state)
{
    (void)state;
    static const struct {
        const char *owner;
        unsigned place; /* after the first */
    } wanted[] = {{"a", 0}, {"a", 3}, {"a", 5}, {"a", 6}, {"b", 1}, {"b", 4}, {"c", 2}};
    const size_t n = sizeof wanted / sizeof wanted[0];
    struct job *all[8];
    open_jobs(&one_at_a_time);
    all[n] = submit("z", "0 accepted gated");
    wait_begun(1);
    for (size_t i = 0; i < n; i++)
        all[i] = submit(wanted[i].owner, "0 accepted");
    for (size_t i = 0; i < n; i++)
        assert_int_equal(look(all[i]).ahead, wanted[i].place + 1);
    gate(true);
    for (size_t i = 0; i < n; i++)
        wait_state(all[i], JOB_DONE);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(engine.ids[wanted[i].place + 1], look(all[i]).id);
    for (size_t i = 0; i <= n; i++)
        job_release(all[i]);
}

static void the_place_that_is_told_first_is_the_place(void **state)
{
    (void)state;
    enum { N = 120 };
    static struct job *all[N];
    unsigned seed = 1;
    open_jobs(&one_at_a_time);
    struct job *running = submit("z", "0 accepted gated");
    wait_state(running, JOB_RUNNING);
    for (int i = 0; i < N; i++) {
        char owner[8];
        struct job_event event;
        snprintf(owner, sizeof owner, "o%d", rand_r(&seed) % (1 + i / 10));
        all[i] = submit(owner, "0 accepted");
        assert_true(job_event(all[i], 0, &event));
        assert_string_equal(event.name, "queued");
        assert_int_equal(event.done, look(all[i]).ahead);
        if (i % 9 == 8) {
            int k = i - 4;
            assert_int_equal(job_cancel(all[k], NULL), 0);
        }
    }
    for (int i = 0; i < N; i++)
        job_release(all[i]);
    job_release(running);
}

static void devices_do_not_wait_for_each_other(void **state)
{
    (void)state;
    open_jobs(&one_at_a_time);
    struct job *slow = submit("a", "0 accepted gated");
    struct jobs_request request = request_of("a", "0 accepted");
    request.grade.device = "e";
    struct job *quick = submit_request(&request);
    wait_state(quick, JOB_DONE);
    assert_int_equal(look(slow).state, JOB_RUNNING);
    job_release(quick);
    job_release(slow);
}

static void threads_build_ahead(void **state)
{
    (void)state;
    const struct jobs_options options = {.queue = 10, .builds_ahead = 2};
    struct job *all[5];
    open_jobs(&options);
    for (size_t i = 0; i < 5; i++)
        all[i] = submit("a", "0 accepted gated");
    wait_begun(3);
    sleep_ms(50);
    assert_int_equal(engine_begun(), 3);
    assert_int_equal(look(all[3]).ahead, 3);
    gate(true);
    for (size_t i = 0; i < 5; i++) {
        wait_state(all[i], JOB_DONE);
        job_release(all[i]);
    }
    assert_int_equal(engine.most, 3);
}

/* --- limits --- */

static void the_queue_is_bounded(void **state)
{
    (void)state;
    struct job *all[6];
    for (unsigned limit = 0; limit <= 2; limit++) {
        const struct jobs_options options = {.queue = limit};
        gate(false);
        open_jobs(&options);
        for (unsigned i = 0; i < 1 + limit; i++)
            all[i] = submit("a", "0 accepted gated");
        wait_state(all[0], JOB_RUNNING);
        assert_not_taken("b", 0, "queue_full");
        gate(true);
        for (unsigned i = 0; i < 1 + limit; i++) {
            wait_state(all[i], JOB_DONE);
            job_release(all[i]);
        }
        struct job *next = submit("b", "0 accepted");
        wait_state(next, JOB_DONE);
        job_release(next);
        close_jobs();
    }
}

static void an_owner_has_a_quota(void **state)
{
    (void)state;
    const struct jobs_options options = {.queue = 10, .queue_per_owner = 2};
    struct job *all[5];
    open_jobs(&options);
    for (unsigned i = 0; i < 3; i++) {
        all[i] = submit("a", "0 accepted gated");
        wait_begun(1);
    }
    assert_not_taken("a", 0, "quota_exceeded");
    assert_not_taken("a", 1, "quota_exceeded");
    all[3] = submit("b", "0 accepted");
    struct jobs_request more = request_of("a", "0 accepted");
    more.owner_queue = 3;
    all[4] = submit_request(&more);
    gate(true);
    for (unsigned i = 0; i < 5; i++) {
        wait_state(all[i], JOB_DONE);
        job_release(all[i]);
    }
}

static void limits_can_change(void **state)
{
    (void)state;
    struct jobs_options options = {.queue = 1};
    open_jobs(&options);
    struct job *running = submit("a", "0 accepted gated");
    wait_state(running, JOB_RUNNING);
    struct job *waiting = submit("a", "0 accepted");
    assert_not_taken("a", 0, "queue_full");
    options.queue = 3;
    jobs_set_limits(jobs, &options);
    struct job *more = submit("a", "0 accepted");
    options.queue_per_owner = 2;
    jobs_set_limits(jobs, &options);
    assert_not_taken("a", 0, "quota_exceeded");
    options.queue = 0;
    jobs_set_limits(jobs, &options);
    assert_not_taken("b", 0, "queue_full");
    gate(true);
    wait_state(more, JOB_DONE); /* what waited stayed */
    job_release(running);
    job_release(waiting);
    job_release(more);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    char name[STORE_NAME_SIZE + 1], key[STORE_MAX_KEY + 2];
    struct job *job;
    kgrade_error err;
    memset(name, 'n', STORE_NAME_SIZE);
    name[STORE_NAME_SIZE] = 0;
    memset(key, 'k', STORE_MAX_KEY + 1);
    key[STORE_MAX_KEY + 1] = 0;
    open_jobs(&one_at_a_time);
    struct jobs_request request = request_of(name, "0 accepted");
    assert_int_equal(jobs_submit(jobs, &request, &job, &err), -1);
    assert_string_equal(err.code, "name_too_long");
    request = request_of("a", "0 accepted");
    request.idempotency_key = key;
    assert_int_equal(jobs_submit(jobs, &request, &job, &err), -1);
    assert_string_equal(err.code, "idempotency_key_too_long");
    key[STORE_MAX_KEY] = 0;
    job = submit_request(&request);
    wait_state(job, JOB_DONE);
    job_release(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        jobs_test(jobs_of_one_owner_come_in_order),
        jobs_test(owners_take_turns),
        jobs_test(the_place_that_is_told_first_is_the_place),
        jobs_test(devices_do_not_wait_for_each_other),
        jobs_test(threads_build_ahead),
        jobs_test(the_queue_is_bounded),
        jobs_test(an_owner_has_a_quota),
        jobs_test(limits_can_change),
        jobs_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
