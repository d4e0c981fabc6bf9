/* Jobs when things end or break: shutdown, restart, a store that cannot write, everything at once. */
#include "jobs_help.h"

#include <sqlite3.h>

static void assert_stored(const char *id, enum store_state state)
{
    struct store_row row;
    assert_int_equal(store_get(store, id, 0, &row, NULL), 0);
    assert_int_equal(row.state, state);
    store_row_free(&row);
}

/* As the next process does. */
static void restart(void)
{
    close_store();
    open_store();
    open_jobs(&one_at_a_time);
}

/* --- the end, and the next beginning --- */

static void waiting_jobs_outlive_a_drain(void **state)
{
    (void)state;
    enum { N = 6 };
    struct job *all[N], *more;
    char ids[N][STORE_ID_SIZE];
    kgrade_error err;
    open_jobs(&one_at_a_time);
    for (int i = 0; i < N; i++) {
        all[i] = submit(i % 2 ? "a" : "b", i ? "0 accepted" : "0 accepted gated");
        strcpy(ids[i], look(all[i]).id);
        wait_begun(1);
    }
    jobs_drain(jobs);
    const struct jobs_request request = request_of("a", "0 accepted");
    assert_int_equal(jobs_submit(jobs, &request, &more, &err), -1);
    assert_string_equal(err.code, "shutting_down");
    assert_false(jobs_close(jobs, io_now() + 20 * IO_NS_PER_MS)); /* one is running */
    gate(true);
    wait_state(all[0], JOB_DONE); /* what ran was finished */
    close_jobs();
    for (int i = 1; i < N; i++) {
        assert_int_equal(look(all[i]).state, JOB_QUEUED);
        assert_int_equal(job_cancel(all[i], &err), -1);
        assert_string_equal(err.code, "shutting_down");
        job_release(all[i]); /* after the jobs are closed */
    }
    job_release(all[0]);
    assert_int_equal(engine_begun(), 1);

    restart();
    for (int i = 0; i < N; i++) {
        struct job *job = jobs_find(jobs, ids[i], NULL);
        assert_non_null(job);
        wait_state(job, JOB_DONE);
        job_release(job);
    }
    assert_int_equal(engine_begun(), N);
    /* In the order of the store, and fair: b's second, a's first, ... */
    static const int order[N] = {0, 1, 2, 3, 4, 5};
    for (int i = 0; i < N; i++)
        assert_string_equal(engine.ids[i], ids[order[i]]);
}

static void stopped_grades_are_begun_again(void **state)
{
    (void)state;
    const struct jobs_options options = {.queue = 10, .builds_ahead = 1};
    open_jobs(&options);
    struct job *stopped = submit("a", "0 accepted gated");
    struct job *broken =
        submit("a", "!0 infrastructure_error gated"); /* as when workers are killed */
    char ids[2][STORE_ID_SIZE];
    strcpy(ids[0], look(stopped).id);
    strcpy(ids[1], look(broken).id);
    wait_begun(2);
    jobs_drain(jobs);
    jobs_stop_running(jobs);
    AWAIT(engine_now() == 1);
    gate(true);
    close_jobs();
    assert_int_equal(look(stopped).state, JOB_QUEUED);
    assert_int_equal(look(broken).state, JOB_QUEUED);
    job_release(stopped);
    job_release(broken);
    restart();
    for (int i = 0; i < 2; i++) {
        struct job *job = jobs_find(jobs, ids[i], NULL);
        wait_state(job, JOB_DONE);
        assert_int_equal(look(job).verdict, i ? KGRADE_INFRASTRUCTURE_ERROR : KGRADE_ACCEPTED);
        assert_stored(ids[i], STORE_DONE);
        job_release(job);
    }
    assert_int_equal(engine_begun(), 4);
}

static void a_deaf_grade_is_waited_for(void **state)
{
    (void)state;
    open_jobs(&one_at_a_time);
    struct job *job = submit("a", "!0 accepted gated");
    wait_begun(1);
    jobs_drain(jobs);
    jobs_stop_running(jobs);
    assert_false(jobs_close(jobs, io_now()));
    gate(true);
    close_jobs();
    wait_state(job, JOB_DONE); /* it came to its end all the same, and that was stored */
    assert_stored(look(job).id, STORE_DONE);
    job_release(job);
}

static void a_wish_for_a_profile_outlives_a_restart(void **state)
{
    (void)state;
    struct jobs_request request = request_of("a", "0 accepted gated");
    char ids[2][STORE_ID_SIZE];
    open_jobs(&one_at_a_time);
    for (int wanted = 0; wanted < 2; wanted++) {
        request.grade.profile = wanted;
        struct job *job = submit_request(&request);
        strcpy(ids[wanted], look(job).id);
        job_tell(job);
        wait_state(job, wanted ? JOB_QUEUED : JOB_RUNNING);
        job_release(job);
    }
    jobs_drain(jobs);
    jobs_stop_running(jobs);
    close_jobs();
    gate(true);
    restart();
    for (int wanted = 0; wanted < 2; wanted++) {
        struct job *job = jobs_find(jobs, ids[wanted], NULL);
        wait_state(job, JOB_DONE);
        assert_int_equal(strstr(look(job).result, "\"profile\"") != NULL, wanted);
        job_release(job);
    }
}

static void deadlines_outlive_a_restart(void **state)
{
    (void)state;
    struct jobs_request request = request_of("a", "0 accepted gated");
    open_jobs(&one_at_a_time);
    struct job *job = submit_request(&request);
    wait_begun(1);
    request.deadline_s = 0.5;
    struct job *hurried = submit_request(&request);
    request.deadline_s = 1000;
    struct job *patient = submit_request(&request);
    char ids[2][STORE_ID_SIZE];
    strcpy(ids[0], look(hurried).id);
    strcpy(ids[1], look(patient).id);
    wait_state(patient, JOB_QUEUED);
    jobs_drain(jobs);
    jobs_stop_running(jobs);
    close_jobs();
    job_release(job);
    job_release(hurried);
    job_release(patient);
    restart(); /* begins the first again, which waits at the gate */
    hurried = jobs_find(jobs, ids[0], NULL);
    wait_state(hurried, JOB_CANCELLED);
    assert_string_equal(look(hurried).error.code, "deadline_exceeded");
    assert_stored(ids[0], STORE_CANCELLED);
    job_release(hurried);
    gate(true);
    patient = jobs_find(jobs, ids[1], NULL);
    wait_state(patient, JOB_DONE);
    job_release(patient);
}

static void keys_outlive_a_restart(void **state)
{
    (void)state;
    struct jobs_request request = request_of("a", "0 accepted gated");
    struct jobs_request blocker = request_of("z", "0 accepted gated");
    request.idempotency_key = "key";
    open_jobs(&one_at_a_time);
    struct job *first = submit_request(&blocker);
    wait_begun(1);
    struct job *job = submit_request(&request);
    char id[STORE_ID_SIZE];
    strcpy(id, look(job).id);
    wait_state(job, JOB_QUEUED);
    jobs_drain(jobs);
    jobs_stop_running(jobs);
    close_jobs();
    job_release(first);
    job_release(job);
    restart();
    job = submit_request(&request); /* queued again or running: the live job */
    assert_string_equal(look(job).id, id);
    assert_true(look(job).reused);
    gate(true);
    wait_state(job, JOB_DONE);
    job_release(job);
}

/* --- a store that cannot write --- */

static sqlite3 *lock_database(void)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(database, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 60000);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static void nothing_is_lost_while_the_store_cannot_write(void **state)
{
    (void)state;
    open_jobs(&one_at_a_time);
    struct job *running = submit("a", "0 accepted gated");
    struct job *cancelled = submit("a", "0 accepted");
    struct job *waiting = submit("a", "0 accepted");
    wait_state(running, JOB_RUNNING);
    sqlite3 *db = lock_database();
    const struct jobs_request request = request_of("b", "0 accepted");
    assert_refused(submit_request(&request), "store_unavailable");
    assert_int_equal(job_cancel(cancelled, NULL), 0);
    gate(true);
    wait_begun(2); /* grading goes on: sources can be read */
    assert_false(wait_state_for(running, JOB_DONE, 100 * IO_NS_PER_MS));
    assert_int_equal(look(running).state, JOB_RUNNING); /* nobody is told of what is not on disk */
    assert_int_equal(look(cancelled).state, JOB_QUEUED);
    struct jobs_counts counts;
    jobs_count(jobs, NULL, &counts);
    assert_int_equal(counts.running, 2);
    kgrade_error err;
    assert_int_equal(job_cancel(running, &err), -1);
    assert_string_equal(err.code, "already_done");
    assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    wait_state(running, JOB_DONE);
    wait_state(waiting, JOB_DONE);
    assert_cancelled(cancelled, "cancelled");
    struct job *again = submit_request(&request);
    wait_state(again, JOB_DONE);
    job_release(again);
    job_release(running);
    job_release(cancelled);
    job_release(waiting);
}

static void ends_that_were_never_written_are_graded_again(void **state)
{
    (void)state;
    open_jobs(&one_at_a_time);
    struct job *job = submit("a", "0 accepted gated");
    char id[STORE_ID_SIZE];
    strcpy(id, look(job).id);
    wait_state(job, JOB_RUNNING);
    sqlite3 *db = lock_database();
    gate(true);
    close_jobs(); /* before the end is on disk */
    assert_int_equal(store_close(store, 50 * IO_NS_PER_MS), 1);
    assert_int_not_equal(look(job).state, JOB_DONE);
    job_release(job);
    sqlite3_close(db);
    open_store();
    open_jobs(&one_at_a_time);
    job = jobs_find(jobs, id, NULL);
    wait_state(job, JOB_DONE);
    job_release(job);
    assert_int_equal(engine_begun(), 2);
}

static void change_database(const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(database, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 60000);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void a_job_waits_while_its_source_cannot_be_read(void **state)
{
    (void)state;
    open_jobs(&one_at_a_time);
    struct job *first = submit("z", "0 accepted gated");
    wait_state(first, JOB_RUNNING);
    struct job *two[2] = {submit("a", "0 accepted"), submit("b", "0 accepted")};
    change_database("ALTER TABLE sources RENAME TO hidden");
    gate(true);
    assert_false(wait_state_for(two[0], JOB_DONE, 1500 * IO_NS_PER_MS));
    assert_int_equal(engine_begun(), 1);
    struct jobs_counts counts;
    jobs_count(jobs, NULL, &counts);
    assert_int_equal(counts.waiting, 2);
    change_database("ALTER TABLE hidden RENAME TO sources");
    for (int i = 0; i < 2; i++)
        wait_state(two[i], JOB_DONE);
    for (int i = 0; i < 2; i++)
        assert_string_equal(engine.ids[i + 1], look(two[i]).id); /* none lost its place */

    gate(false);
    struct job *again = submit("z", "0 accepted gated");
    wait_state(again, JOB_RUNNING);
    struct job *waits = submit("a", "0 accepted");
    change_database("ALTER TABLE sources RENAME TO hidden");
    gate(true);
    wait_state(again, JOB_DONE);
    assert_int_equal(job_cancel(waits, NULL), 0); /* while it waits */
    assert_cancelled(waits, "cancelled");
    change_database("ALTER TABLE hidden RENAME TO sources");
    for (int i = 0; i < 2; i++)
        job_release(two[i]);
    job_release(first);
    job_release(again);
    job_release(waits);
}

/* --- signs of life --- */

static void a_silent_grade_is_noticed(void **state)
{
    (void)state;
    open_jobs(&one_at_a_time);
    jobs_lock(jobs);
    jobs->max_silence_ns = 50 * IO_NS_PER_MS;
    jobs_unlock(jobs);
    assert_true(jobs_alive(jobs));
    struct job *lively = submit("a", "0 accepted gated");
    wait_state(lively, JOB_RUNNING);
    gate(true);
    wait_state(lively, JOB_DONE);
    AWAIT(jobs_alive(jobs));
    gate(false);
    struct job *silent = submit("a", "!0 accepted gated");
    AWAIT(!jobs_alive(jobs));
    assert_int_equal(look(silent).state, JOB_RUNNING);
    gate(true);
    wait_state(silent, JOB_DONE);
    AWAIT(jobs_alive(jobs));
    job_release(lively);
    job_release(silent);
}

/* --- everything at once, for the sanitizers --- */

#define CLIENTS 6
static atomic_bool over;
static atomic_uint accepted;
#define ENOUGH 50 /* jobs in each round */

static void on_change(void *data)
{
    struct job_view view;
    job_look(data, &view);
}

static void client_step(unsigned *seed, unsigned number)
{
    static const char *const sources[] = {
        "0 accepted",       "2 wrong_answer",     "?", "1 infrastructure_error",
        "3 accepted waits", "0 accepted cases=20"};
    char owner[8], key[16];
    snprintf(owner, sizeof owner, "o%u", number % 3);
    snprintf(key, sizeof key, "%d", rand_r(seed) % 40);
    struct jobs_request request = request_of(owner, sources[rand_r(seed) % 6]);
    request.grade.device = rand_r(seed) % 3 ? "d" : "e";
    request.idempotency_key = rand_r(seed) % 3 ? NULL : key;
    request.reuse = rand_r(seed) % 4 == 0;
    request.deadline_s = rand_r(seed) % 5 ? 0 : 0.002;
    struct job *job;
    if (jobs_submit(jobs, &request, &job, NULL)) {
        sleep_ms(1);
        return;
    }
    atomic_fetch_add(&accepted, 1);
    struct job_watch *watch = rand_r(seed) % 2 ? job_watch(job, on_change, job) : NULL;
    if (rand_r(seed) % 2)
        job_tell(job);
    if (rand_r(seed) % 4 == 0)
        job_cancel(job, NULL);
    if (rand_r(seed) % 2)
        sleep_ms(rand_r(seed) % 4);
    struct job *again = jobs_find(jobs, look(job).id, NULL);
    struct job_event event;
    job_event(job, 0, &event);
    job_unwatch(watch);
    job_release(again);
    job_release(job);
}

static void *client(void *data)
{
    unsigned number = *(unsigned *)data, seed = number + 1;
    while (!atomic_load(&over))
        client_step(&seed, number);
    return NULL;
}

static void everything_at_once(void **state)
{
    (void)state;
    const struct jobs_options options = {
        .queue = 20, .queue_per_owner = 10, .builds_ahead = 1, .max_grade_s = 5};
    pthread_t threads[CLIENTS];
    unsigned numbers[CLIENTS];
    for (int round = 0; round < 5; round++) {
        atomic_store(&over, false);
        engine_reset();
        open_jobs(&options);
        for (unsigned i = 0; i < CLIENTS; i++) {
            numbers[i] = i;
            assert_int_equal(pthread_create(&threads[i], NULL, client, &numbers[i]), 0);
        }
        unsigned before = atomic_load(&accepted);
        uint64_t end = io_now() + PATIENCE_NS;
        for (int i = 0; i < 20 || (atomic_load(&accepted) < before + ENOUGH && io_now() < end);
             i++) {
            struct jobs_counts counts;
            sleep_ms(10);
            jobs_count(jobs, NULL, &counts);
            assert_true(jobs_alive(jobs));
            jobs_estimate_s(jobs);
        }
        if (round % 2)
            jobs_drain(jobs);
        if (round % 3 == 1)
            jobs_stop_running(jobs);
        atomic_store(&over, true);
        for (int i = 0; i < CLIENTS; i++)
            pthread_join(threads[i], NULL);
        close_jobs();
        close_store(); /* writes what is under way */
        open_store();
    }
    assert_true(atomic_load(&accepted) >= 5 * ENOUGH);
    /* All that is left comes to its end. */
    open_jobs(&one_at_a_time);
    struct jobs_counts counts = {.waiting = 1};
    for (uint64_t deadline = io_now() + PATIENCE_NS;
         counts.waiting + counts.running && io_now() < deadline; sleep_ms(5))
        jobs_count(jobs, NULL, &counts);
    assert_int_equal(counts.waiting + counts.running, 0);
    close_jobs();
    close_store(); /* cancelled ones may still have been on their way to the disk */
    open_store();
    json_t *list = store_list(store, NULL, NULL, 1000, NULL), *one;
    size_t i;
    assert_true(json_array_size(list) > 50);
    json_array_foreach(list, i, one)
    {
        const char *is = json_string_value(json_object_get(one, "state"));
        assert_true(!strcmp(is, "done") || !strcmp(is, "cancelled"));
    }
    json_decref(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        jobs_test(waiting_jobs_outlive_a_drain),
        jobs_test(stopped_grades_are_begun_again),
        jobs_test(a_deaf_grade_is_waited_for),
        jobs_test(a_wish_for_a_profile_outlives_a_restart),
        jobs_test(deadlines_outlive_a_restart),
        jobs_test(keys_outlive_a_restart),
        jobs_test(nothing_is_lost_while_the_store_cannot_write),
        jobs_test(ends_that_were_never_written_are_graded_again),
        jobs_test(a_job_waits_while_its_source_cannot_be_read),
        jobs_test(a_silent_grade_is_noticed),
        jobs_test(everything_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
