/* Jobs while all is well: order, limits, repeats, ends, events, watchers. */
#include "jobs_help.h"

#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <sys/resource.h>

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

static void assert_not_taken(const char *owner, unsigned owner_queue, const char *code)
{
    struct jobs_request request = request_of(owner, "0 accepted");
    struct job *job;
    kgrade_error err = {.code = ""};
    request.owner_queue = owner_queue;
    assert_int_equal(jobs_submit(jobs, &request, &job, &err), -1);
    assert_string_equal(err.code, code);
    assert_true(err.message[0] && err.hint[0]);
}

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

/* --- ends that somebody asked for --- */

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

/* --- the interval of a score --- */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        jobs_test(jobs_of_one_owner_come_in_order),
        jobs_test(a_job_tells_how_it_ended),
        jobs_test(owners_take_turns),
        jobs_test(the_place_that_is_told_first_is_the_place),
        jobs_test(devices_do_not_wait_for_each_other),
        jobs_test(threads_build_ahead),
        jobs_test(the_queue_is_bounded),
        jobs_test(an_owner_has_a_quota),
        jobs_test(limits_can_change),
        jobs_test(what_does_not_fit_is_refused),
        jobs_test(a_repeated_key_gives_the_same_job),
        jobs_test(a_known_key_is_answered_when_the_queue_is_full),
        jobs_test(equal_keys_at_once_make_one_job),
        jobs_test(an_earlier_grade_is_the_answer_when_asked_for),
        jobs_test(a_job_can_be_cancelled),
        jobs_test(a_deadline_ends_a_job_wherever_it_is),
        jobs_test(a_grade_may_not_take_longer_than_allowed),
        jobs_test(a_job_that_nobody_knows_of_is_forgotten),
        jobs_test(events_tell_the_steps_in_order),
        jobs_test(queued_jobs_tell_how_they_move_up),
        jobs_test(watchers_are_told),
        jobs_test(no_call_comes_after_unwatch),
        jobs_test(waiting_costs_little_memory),
        jobs_test(idle_threads_sleep),
        jobs_test(each_grade_is_reported_once),
        cmocka_unit_test(a_score_has_an_interval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
