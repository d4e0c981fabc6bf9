/* Jobs that were submitted before: keys of idempotency, and earlier grades. */
#include "jobs_help.h"

/* --- repeats --- */

static struct jobs_request keyed(const char *owner, const char *source, const char *key)
{
    struct jobs_request request = request_of(owner, source);
    request.idempotency_key = key;
    return request;
}

static void a_repeated_key_gives_the_same_job(void **state)
{
    (void)state;
    open_jobs(&one_at_a_time);
    struct jobs_request request = keyed("a", "0 accepted gated", "k1");
    struct job *first = submit_request(&request);
    struct job *second = submit_request(&request); /* perhaps before it is stored */
    wait_state(first, JOB_RUNNING);
    struct job *third = submit_request(&request);
    assert_string_equal(look(first).id, look(second).id);
    assert_string_equal(look(first).id, look(third).id);
    assert_false(look(first).reused);
    assert_true(look(second).reused && look(third).reused);

    struct jobs_request other = keyed("a", "0 accepted", "k1");
    assert_refused(submit_request(&other), "idempotency_key_reused");
    other = keyed("a", "0 accepted gated", "k1");
    other.grade.language = "cpp";
    assert_refused(submit_request(&other), "idempotency_key_reused");
    other.grade.language = "c"; /* what it is when left out */
    struct job *same = submit_request(&other);
    assert_string_equal(look(first).id, look(same).id);
    job_release(same);
    other.grade.profile = true;
    assert_refused(submit_request(&other), "idempotency_key_reused");

    other = keyed("b", "0 accepted", "k1");
    struct job *others = submit_request(&other); /* keys of owners are their own */
    assert_string_not_equal(look(first).id, look(others).id);

    gate(true);
    wait_state(others, JOB_DONE);
    wait_state(third, JOB_DONE);
    char id[STORE_ID_SIZE];
    strcpy(id, look(first).id);
    job_release(first);
    job_release(second);
    job_release(third);
    job_release(others);

    struct job *later = submit_request(&request); /* now only the store knows it */
    assert_string_equal(look(later).id, id);
    assert_int_equal(look(later).state, JOB_DONE);
    assert_true(look(later).reused);
    job_release(later);
    other = keyed("a", "0 accepted", "k1");
    assert_refused(submit_request(&other), "idempotency_key_reused");
    assert_int_equal(engine_begun(), 2);
}

static void a_known_key_is_answered_when_the_queue_is_full(void **state)
{
    (void)state;
    const struct jobs_options options = {.queue = 1};
    open_jobs(&options);
    struct jobs_request request = keyed("a", "0 accepted", "k");
    struct job *done = submit_request(&request);
    wait_state(done, JOB_DONE);
    struct job *running = submit("a", "0 accepted gated");
    wait_state(running, JOB_RUNNING);
    struct jobs_request waits = keyed("a", "1 accepted", "w");
    struct job *waiting = submit_request(&waits), *again;
    assert_not_taken("a", 0, "queue_full");
    again = submit_request(&waits);
    assert_string_equal(look(again).id, look(waiting).id);
    job_release(again);
    job_release(done);
    again = submit_request(&request);
    assert_int_equal(look(again).state, JOB_DONE);
    job_release(again);
    job_release(running);
    job_release(waiting);
}

#define SUBMITTERS 8
#define ROUNDS 20

static void *submit_same(void *data)
{
    char(*ids)[STORE_ID_SIZE] = data;
    for (int i = 0; i < ROUNDS; i++) {
        char key[16];
        snprintf(key, sizeof key, "key %d", i);
        const struct jobs_request request = keyed("a", "0 accepted", key);
        struct job *job = submit_request(&request);
        wait_state(job, JOB_DONE);
        strcpy(ids[i], look(job).id);
        job_release(job);
    }
    return NULL;
}

static void equal_keys_at_once_make_one_job(void **state)
{
    (void)state;
    static char ids[SUBMITTERS][ROUNDS][STORE_ID_SIZE];
    pthread_t threads[SUBMITTERS];
    open_jobs(&one_at_a_time);
    for (int i = 0; i < SUBMITTERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, submit_same, ids[i]), 0);
    for (int i = 0; i < SUBMITTERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 1; i < SUBMITTERS; i++)
        for (int k = 0; k < ROUNDS; k++)
            assert_string_equal(ids[i][k], ids[0][k]);
    assert_int_equal(engine_begun(), ROUNDS);
}

static void an_earlier_grade_is_the_answer_when_asked_for(void **state)
{
    (void)state;
    open_jobs(&one_at_a_time);
    struct job *first = submit("a", "1 accepted");
    struct job *wrong = submit("a", "0 infrastructure_error");
    wait_state(wrong, JOB_DONE);
    wait_state(first, JOB_DONE);
    struct jobs_request request = request_of("a", "1 accepted");
    struct job *other = submit_request(&request);
    wait_state(other, JOB_DONE);
    assert_string_not_equal(look(other).id, look(first).id); /* not asked for */
    assert_false(look(other).reused);
    request.reuse = true;
    struct job *again = submit_request(&request);
    assert_int_equal(look(again).state, JOB_DONE);
    assert_true(look(again).reused);
    assert_string_equal(look(again).id, look(other).id); /* the newest */
    assert_string_equal(look(again).result, look(other).result);
    job_release(again);
    request.grade.profile = true; /* which that one lacks */
    struct job *profiled = submit_request(&request);
    assert_false(look(profiled).reused);
    wait_state(profiled, JOB_DONE);
    assert_non_null(strstr(look(profiled).result, "\"profile\""));
    for (int wanted = 0; wanted < 2; wanted++) { /* who wants none gets one all the same */
        request.grade.profile = wanted;
        again = submit_request(&request);
        assert_string_equal(look(again).id, look(profiled).id);
        job_release(again);
    }
    job_release(profiled);
    request.owner = "b"; /* what others had graded is no business of theirs */
    again = submit_request(&request);
    assert_false(look(again).reused);
    wait_state(again, JOB_DONE);
    job_release(again);
    request = request_of("a", "0 infrastructure_error");
    request.reuse = true;
    again = submit_request(&request);
    assert_false(look(again).reused);
    wait_state(again, JOB_DONE);
    job_release(again);
    job_release(first);
    job_release(wrong);
    job_release(other);
    assert_int_equal(engine_begun(), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        jobs_test(a_repeated_key_gives_the_same_job),
        jobs_test(a_known_key_is_answered_when_the_queue_is_full),
        jobs_test(equal_keys_at_once_make_one_job),
        jobs_test(an_earlier_grade_is_the_answer_when_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
