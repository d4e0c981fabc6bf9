/* Jobs that end before they are done, because somebody asked for it: cancelled, too late, forgotten. */
#include "jobs_help.h"

static void a_job_can_be_cancelled(void **state)
{
    (void)state;
    kgrade_error err;
    open_jobs(&one_at_a_time);
    struct job *running = submit("a", "0 accepted gated");
    wait_state(running, JOB_RUNNING);
    struct job *queued = submit("a", "0 accepted"), *last = submit("a", "0 accepted");
    assert_int_equal(look(last).ahead, 2);
    assert_int_equal(job_cancel(queued, &err), 0);
    assert_cancelled(queued, "cancelled");
    assert_int_equal(look(last).ahead, 1);
    assert_int_equal(job_cancel(queued, &err), -1);
    assert_string_equal(err.code, "already_done");
    assert_int_equal(job_cancel(running, &err), 0);
    assert_cancelled(running, "cancelled");
    wait_state(last, JOB_DONE);
    assert_int_equal(job_cancel(last, &err), -1);
    assert_string_equal(err.code, "already_done");
    assert_int_equal(engine_begun(), 2);

    const struct jobs_request request = request_of("a", "0 accepted");
    for (int i = 0; i < 50; i++) { /* wherever it is on its way */
        struct job *any = submit_request(&request);
        if (i % 2)
            sleep_ms(i % 5);
        bool in_time = job_cancel(any, &err) == 0;
        wait_state(any, in_time ? JOB_CANCELLED : JOB_DONE);
        job_release(any);
    }
    job_release(running);
    job_release(queued);
    job_release(last);
}

static void a_deadline_ends_a_job_wherever_it_is(void **state)
{
    (void)state;
    open_jobs(&one_at_a_time);
    struct jobs_request request = request_of("a", "0 accepted gated");
    struct job *first = submit_request(&request);
    wait_state(first, JOB_RUNNING);
    request.deadline_s = 0.05;
    struct job *queued = submit_request(&request);
    assert_cancelled(queued, "deadline_exceeded");
    assert_int_equal(look(queued).started_ms, 0);
    assert_int_equal(job_cancel(first, NULL), 0);
    job_release(first);

    /* Again, with more time, when it was over before it began. */
    struct job *running = NULL;
    int64_t began = 0;
    for (request.deadline_s = 0.1; !began && request.deadline_s < 60; request.deadline_s *= 2) {
        job_release(running);
        running = submit_request(&request);
        assert_cancelled(running, "deadline_exceeded");
        began = look(running).started_ms;
    }
    assert_true(began > 0);
    request.deadline_s = 1000;
    struct job *patient = submit_request(&request);
    wait_state(patient, JOB_RUNNING);
    request.deadline_s = 1e-9;
    struct job *late = submit_request(&request);
    assert_cancelled(late, "deadline_exceeded");
    gate(true);
    wait_state(patient, JOB_DONE);
    job_release(running);
    job_release(queued);
    job_release(patient);
    job_release(late);
}

static void a_grade_may_not_take_longer_than_allowed(void **state)
{
    (void)state;
    struct jobs_options options = {.queue = 10, .max_grade_s = 0.1};
    open_jobs(&options);
    struct job *slow = submit("a", "60000 accepted");
    assert_cancelled(slow, "deadline_exceeded");
    job_release(slow);
    /* Waiting for the device is not its fault.  Again, with more time, when it was held up before it waited. */
    bool done = false;
    for (long ms = 400; !done && ms < 60000; ms *= 4) {
        char source[64];
        options.max_grade_s = (double)ms / 4000;
        jobs_set_limits(jobs, &options);
        snprintf(source, sizeof source, "%ld accepted waits", ms);
        struct job *waits = submit("a", source);
        AWAIT(look(waits).state == JOB_DONE || look(waits).state == JOB_CANCELLED);
        done = look(waits).state == JOB_DONE;
        job_release(waits);
    }
    assert_true(done);
}

static void a_job_that_nobody_knows_of_is_forgotten(void **state)
{
    (void)state;
    open_jobs(&one_at_a_time);
    struct job *running = submit("a", "0 accepted gated");
    wait_state(running, JOB_RUNNING);
    struct jobs_request request = request_of("a", "0 accepted");
    struct job *untold[2], *told, *with_key;
    char ids[2][STORE_ID_SIZE], told_id[STORE_ID_SIZE], key_id[STORE_ID_SIZE];
    for (int i = 0; i < 2; i++) {
        untold[i] = submit_request(&request);
        strcpy(ids[i], look(untold[i]).id);
        if (i == 0)
            wait_state(untold[i], JOB_QUEUED);
        job_release(untold[i]); /* queued; perhaps still being stored */
    }
    told = submit("a", "0 accepted");
    strcpy(told_id, look(told).id);
    job_release(told);
    request.idempotency_key = "k";
    with_key = submit_request(&request);
    strcpy(key_id, look(with_key).id);
    job_release(with_key);
    gate(true);
    struct job *last = submit("a", "0 accepted");
    wait_state(last, JOB_DONE);
    for (int i = 0; i < 2; i++) {
        struct job *job = jobs_find(jobs, ids[i], NULL);
        assert_cancelled(job, "client_gone");
        job_release(job);
    }
    struct job *job = jobs_find(jobs, told_id, NULL);
    assert_int_equal(look(job).state, JOB_DONE);
    job_release(job);
    job = jobs_find(jobs, key_id, NULL);
    assert_int_equal(look(job).state, JOB_DONE);
    job_release(job);
    assert_int_equal(engine_begun(), 4);
    job_release(running);
    job_release(last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        jobs_test(a_job_can_be_cancelled),
        jobs_test(a_deadline_ends_a_job_wherever_it_is),
        jobs_test(a_grade_may_not_take_longer_than_allowed),
        jobs_test(a_job_that_nobody_knows_of_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
