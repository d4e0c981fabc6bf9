/*
 * What the tests of the server's jobs share: jobs over a real store in a temporary folder, with an engine that grades as
 * the source says.
 *
 *     "50 accepted"        50 ms, then that verdict
 *     "!50 accepted"       the same, and deaf to being cancelled
 *     "0 accepted gated"   waits until the gate is open
 *     "20 accepted waits"  is built at once and then waits for the device
 *     "0 accepted cases=N" tells of N cases of each step, each several times
 *     "?"                  cannot be graded: `unknown_task`
 */
#ifndef JOBS_HELP_H
#define JOBS_HELP_H

#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#undef fail
#include "sandbox/base/fail.h"
#undef fail
#define fail() _fail(__FILE__, __LINE__) /* cmocka's */
#include "sandbox/base/io.h"
#include "server/jobs/internal.h"
#include "server/log.h"

#define MAX_GRADES 4096
#define PATIENCE_NS (60 * IO_NS_PER_S)

/* Waits for what must happen. */
#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        for (uint64_t await_end = io_now() + PATIENCE_NS; !(condition) && io_now() < await_end;)   \
            sleep_ms(1);                                                                           \
        assert_true(condition);                                                                    \
    } while (0)

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
    unsigned waiting;                    /* grades at the gate */
    unsigned begun, most, now;           /* grades so far; at once */
    char ids[MAX_GRADES][STORE_ID_SIZE]; /* of those that began, in order */
} engine = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static inline void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static inline void gate(bool open)
{
    pthread_mutex_lock(&engine.lock);
    engine.open = open;
    pthread_cond_broadcast(&engine.changed);
    pthread_mutex_unlock(&engine.lock);
}

static inline bool gate_is_open(void)
{
    pthread_mutex_lock(&engine.lock);
    bool open = engine.open;
    pthread_mutex_unlock(&engine.lock);
    return open;
}

static inline unsigned engine_begun(void)
{
    pthread_mutex_lock(&engine.lock);
    unsigned n = engine.begun;
    pthread_mutex_unlock(&engine.lock);
    return n;
}

static inline unsigned engine_now(void)
{
    pthread_mutex_lock(&engine.lock);
    unsigned n = engine.now;
    pthread_mutex_unlock(&engine.lock);
    return n;
}

static inline void engine_reset(void)
{
    pthread_mutex_lock(&engine.lock);
    engine.open = false;
    engine.begun = engine.most = engine.now = engine.waiting = 0;
    pthread_mutex_unlock(&engine.lock);
}

static inline kgrade_verdict verdict_of(const char *name)
{
    int v = KGRADE_ACCEPTED;
    while (v < KGRADE_INFRASTRUCTURE_ERROR && strcmp(kgrade_verdict_name((kgrade_verdict)v), name))
        v++;
    return (kgrade_verdict)v;
}

static inline int pretend_steps(unsigned cases, kgrade_progress progress, void *data)
{
    static const char *const steps[] = {"building", "recording", "replaying", "judging",
                                        "profiling"};
    for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++)
        for (unsigned i = 0; i < cases; i++)
            for (int repeat = 0; repeat < 3; repeat++)
                if (!progress(data, steps[s], i, cases))
                    return -1;
    return 0;
}

static inline int pretend(const kgrade_request *r, kgrade_progress progress, void *data,
                          struct graded *ret, kgrade_error *err)
{
    char name[64] = "", extra[64] = "";
    long ms = 0;
    unsigned cases = 0;
    bool deaf = r->source[0] == '!', waits;
    if (r->source[0] == '?')
        return fail_set(err, "unknown_task", "See GET /tasks.", "There is no such task."), -1;
    sscanf(r->source + deaf, "%ld %63s %63s", &ms, name, extra);
    sscanf(extra, "cases=%u", &cases);
    waits = !strcmp(extra, "waits");
    bool on = pretend_steps(cases, progress, data) == 0;
    uint64_t end = io_now() + (uint64_t)ms * IO_NS_PER_MS;
    bool gated = !strcmp(extra, "gated");
    while (on && (io_now() < end || (gated && !gate_is_open()))) {
        sleep_ms(2);
        if (!deaf)
            on = progress(data, waits ? "building" : "recording", waits, 1);
    }
    if (!on)
        return fail_set(err, "cancelled", NULL, "The grade was cancelled."), -1;
    ret->verdict = verdict_of(name);
    ret->score = ret->verdict == KGRADE_ACCEPTED ? 2 : 0;
    bool infra = ret->verdict == KGRADE_INFRASTRUCTURE_ERROR;
    json_t *json = json_pack(
        "{s:s, s:{s:s, s:s}, s:s, s:f, s:o, s:[{s:{s:f, s:f, s:f}}]}", "id", r->id, "task", "name",
        r->task, "hash", "1111111111111111111111111111111111111111111111111111111111111111",
        "verdict", name, "score", ret->score, "reason",
        ret->verdict == KGRADE_ACCEPTED
            ? json_null()
            : json_pack("{s:s, s:b}", "code", infra ? "worker_died" : "wrong_values", "retryable",
                        infra),
        "cases", "speedup", "value", 2.0, "low", 1.0, "high", 4.0);
    if (r->profile)
        json_object_set_new(json, "profile", json_object());
    ret->json = json_dumps(json, 0);
    json_decref(json);
    return 0;
}

static inline int fake_grade(kgrade *unused, const kgrade_request *r, kgrade_progress progress,
                             void *data, struct graded *ret, kgrade_error *err)
{
    (void)unused;
    pthread_mutex_lock(&engine.lock);
    memcpy(engine.ids[engine.begun++], r->id, STORE_ID_SIZE);
    if (++engine.now > engine.most)
        engine.most = engine.now;
    pthread_mutex_unlock(&engine.lock);
    int result = pretend(r, progress, data, ret, err);
    pthread_mutex_lock(&engine.lock);
    engine.now--;
    pthread_mutex_unlock(&engine.lock);
    return result;
}

static inline int fake_task_json(kgrade *unused, const char *name, char **ret, kgrade_error *err)
{
    (void)unused;
    json_t *json =
        json_pack("{s:s, s:s, s:[{s:s, s:[s, s]}, {s:s, s:[s]}]}", "name", name, "hash",
                  "1111111111111111111111111111111111111111111111111111111111111111", "devices",
                  "name", "d", "languages", "c", "cpp", "name", "e", "languages", "c");
    *ret = json_dumps(json, 0);
    json_decref(json);
    if (!*ret)
        fail_set(err, "out_of_memory", NULL, "No memory.");
    return *ret ? 0 : -1;
}

static const struct jobs_engine fake_engine = {NULL, fake_grade, fake_task_json};

/* --- a server's worth of them --- */

static char folder[64], database[96];
static struct store *store;
static struct jobs *jobs;

static inline void open_store(void)
{
    kgrade_error err = {.code = ""};
    if (store_open(database, &store, &err))
        fail_msg("%s: %s", err.code, err.message);
}

static inline void open_jobs(const struct jobs_options *options)
{
    kgrade_error err = {.code = ""};
    if (jobs_open_with(&fake_engine, store, options, &jobs, &err))
        fail_msg("%s: %s", err.code, err.message);
}

static inline void close_jobs(void)
{
    assert_true(jobs_close(jobs, io_now() + PATIENCE_NS));
    jobs = NULL;
}

static inline void close_store(void)
{
    assert_int_equal(store_close(store, PATIENCE_NS), 0);
    store = NULL;
}

static inline int set_up(void **state)
{
    (void)state;
    log_open(LOG_LEVEL_ERROR);
    engine_reset();
    strcpy(folder, "/tmp/test-jobs.XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(database, sizeof database, "%s/grades.db", folder);
    open_store();
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    gate(true);
    if (jobs)
        close_jobs();
    if (store)
        close_store();
    return io_remove_tree(folder, NULL);
}

#define jobs_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static const struct jobs_options one_at_a_time = {.queue = 1000};

static inline struct jobs_request request_of(const char *owner, const char *source)
{
    return (struct jobs_request){
        .grade = {.task = "t", .device = "d", .source = source, .source_size = strlen(source)},
        .owner = owner};
}

static inline struct job_view look(struct job *job)
{
    struct job_view view;
    job_look(job, &view);
    return view;
}

static inline bool wait_state_for(struct job *job, enum job_state state, uint64_t ns)
{
    uint64_t deadline = io_now() + ns;
    while (look(job).state != state) {
        if (io_now() > deadline)
            return false;
        sleep_ms(1);
    }
    return true;
}

static inline void wait_state(struct job *job, enum job_state state)
{
    if (!wait_state_for(job, state, PATIENCE_NS))
        fail_msg("state %d instead of %d", (int)look(job).state, (int)state);
}

static inline void wait_begun(unsigned n)
{
    uint64_t deadline = io_now() + PATIENCE_NS;
    while (engine_begun() < n && io_now() < deadline)
        sleep_ms(1);
    assert_int_equal(engine_begun(), n);
}

static inline struct job *submit_request(const struct jobs_request *request)
{
    struct job *job = NULL;
    kgrade_error err = {.code = ""};
    if (jobs_submit(jobs, request, &job, &err))
        fail_msg("%s: %s", err.code, err.message);
    return job;
}

/* Submits, and returns when it is on disk. */
static inline struct job *submit(const char *owner, const char *source)
{
    const struct jobs_request request = request_of(owner, source);
    struct job *job = submit_request(&request);
    uint64_t deadline = io_now() + PATIENCE_NS;
    while (look(job).state == JOB_STORING && io_now() < deadline)
        sleep_ms(1);
    job_tell(job);
    return job;
}

static inline void assert_refused(struct job *job, const char *code)
{
    wait_state(job, JOB_REFUSED);
    assert_string_equal(look(job).error.code, code);
    assert_true(look(job).error.message[0] && look(job).error.hint[0]);
    job_release(job);
}

static inline void assert_cancelled(struct job *job, const char *code)
{
    wait_state(job, JOB_CANCELLED);
    struct job_view view = look(job);
    struct job_event event;
    assert_string_equal(view.error.code, code);
    assert_true(view.error.message[0]);
    assert_true(view.ended_ms >= view.created_ms);
    assert_true(job_event(job, view.events - 1, &event));
    assert_string_equal(event.name, "cancelled");
    /* The store agrees. */
    struct store_row row;
    assert_int_equal(store_get(store, view.id, 0, &row, NULL), 0);
    assert_int_equal(row.state, STORE_CANCELLED);
    assert_string_equal(row.code, code);
    store_row_free(&row);
}

/* A submission of this owner is turned away with the code.  owner_queue 0: as the options say. */
static inline void assert_not_taken(const char *owner, unsigned owner_queue, const char *code)
{
    struct jobs_request request = request_of(owner, "0 accepted");
    struct job *job;
    kgrade_error err = {.code = ""};
    request.owner_queue = owner_queue;
    assert_int_equal(jobs_submit(jobs, &request, &job, &err), -1);
    assert_string_equal(err.code, code);
    assert_true(err.message[0] && err.hint[0]);
}

#endif
