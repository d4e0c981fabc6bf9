/* The threads: those that grade, and the timer, which keeps the deadlines of queued jobs and does what callers list. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/condition.h"
#include "../../sandbox/base/fail.h"
#include "../log.h"
#include "internal.h"

/* Waiting for this long is waiting without end; sums of times stay representable. */
#define MAX_SECONDS 1e9

int work_grade(kgrade *engine, const kgrade_request *request, kgrade_progress progress, void *data,
               struct graded *ret, kgrade_error *err)
{
    kgrade_result *result = NULL;
    if (kgrade_grade(engine, request, progress, data, &result, err))
        return -1;
    ret->verdict = kgrade_result_verdict(result);
    ret->score = kgrade_result_score(result);
    ret->json = strdup(kgrade_result_json(result));
    kgrade_result_free(result);
    return ret->json ? 0 : fail(err, "out_of_memory", NULL, "There was no memory for the result.");
}

/* --- ends --- */

void work_cancel(struct entry *e, const char *code)
{
    e->end_code = code;
    e->over = true;
    e->ended_ms = io_unix_ms();
    STAILQ_INSERT_TAIL(&e->jobs->to_cancel, e, to_cancel);
}

static void log_end(const struct entry *e, const char *verdict, const char *code)
{
    char task[80], device[80], owner[80];
    int64_t graded = e->started_ms ? e->ended_ms - e->started_ms : 0;
    log_line(LOG_LEVEL_INFO,
             "grade id=%s task=%s device=%s owner=%s verdict=%s code=%s score=%.6g queued_ms=%lld "
             "graded_ms=%lld",
             e->id, log_field(task, sizeof task, e->task),
             log_field(device, sizeof device, e->device_name),
             log_field(owner, sizeof owner, e->owner_name), verdict, code[0] ? code : "-", e->score,
             (long long)(e->ended_ms - e->created_ms - graded), (long long)graded);
}

static void stop_running(struct entry *e)
{
    if (e->running)
        e->device->running--;
    e->running = false;
}

/* The store's writer calls it. */
void work_cancelled(void *data, const char *existing_id, const kgrade_error *err)
{
    (void)existing_id;
    struct entry *e = data;
    struct jobs *jobs = e->jobs;
    if (!err)
        log_end(e, "cancelled", e->end_code);
    jobs_lock(jobs);
    stop_running(e);
    if (!err) {
        entry_cancelled_error(e, e->end_code);
        entry_event(e, "cancelled", 1, 1);
        entry_state(e, JOB_CANCELLED);
    }
    entry_unref(e);
    jobs_unlock(jobs);
}

/* What the store needs until it has written the end. */
struct ending {
    struct entry *entry;
    struct outcome outcome;
};

/* The store's writer calls it. */
static void finished(void *data, const char *existing_id, const kgrade_error *err)
{
    (void)existing_id;
    struct ending *ending = data;
    struct entry *e = ending->entry;
    struct jobs *jobs = e->jobs;
    if (!err) {
        log_end(e, kgrade_verdict_name(e->verdict), ending->outcome.code);
        if (jobs->options.graded)
            jobs->options.graded(jobs->options.graded_data, e->result);
    }
    jobs_lock(jobs);
    stop_running(e);
    if (!err) {
        e->device->done++;
        entry_event(e, "done", 1, 1);
        entry_state(e, JOB_DONE);
    }
    entry_unref(e);
    jobs_unlock(jobs);
    free(ending);
}

/* Called without the lock. */
static void finish(struct entry *e, struct ending *ending)
{
    const struct store_end end = {.verdict = kgrade_verdict_name(e->verdict),
                                  .code = ending->outcome.code,
                                  .score = e->score,
                                  .score_low = ending->outcome.score_low,
                                  .score_high = ending->outcome.score_high,
                                  .task_hash = ending->outcome.task_hash,
                                  .result = e->result};
    store_finish(e->jobs->store, e->id, &end, finished, ending);
}

/* --- a grade --- */

static uint64_t seconds(double s)
{
    return (uint64_t)((s < MAX_SECONDS ? s : MAX_SECONDS) * (double)IO_NS_PER_S);
}

/* A built candidate that waits for the device costs nobody anything. */
static void keep_time(struct worker *w, const char *step, unsigned done, unsigned total,
                      uint64_t now)
{
    bool waits = !strcmp(step, "building") && done == total;
    if (waits && w->clock_ns) {
        w->spent_ns += now - w->clock_ns;
        w->clock_ns = 0;
    } else if (!waits && !w->clock_ns) {
        w->clock_ns = now;
    }
}

static bool keep_going(void *data, const char *step, unsigned done, unsigned total)
{
    struct worker *w = data;
    struct jobs *jobs = w->device->jobs;
    struct entry *e = w->entry;
    uint64_t now = io_now();
    jobs_lock(jobs);
    w->heard_ns = now;
    keep_time(w, step, done, total, now);
    entry_step(e, step, done, total);
    uint64_t spent = w->spent_ns + (w->clock_ns ? now - w->clock_ns : 0);
    bool late = (e->deadline_ns && now >= e->deadline_ns) ||
                (jobs->options.max_grade_s > 0 && spent >= seconds(jobs->options.max_grade_s));
    if (late && !e->end_code)
        e->end_code = "deadline_exceeded";
    bool go_on = !e->end_code && !jobs->stopping;
    jobs_unlock(jobs);
    return go_on;
}

/* A device gives as many grades as the times between their ends say, also where one is built while another runs. */
static void learn_time(struct device_queue *d, uint64_t began, uint64_t now)
{
    uint64_t from = d->last_end_ns > began ? d->last_end_ns : began;
    double s = (double)(now - from) / (double)IO_NS_PER_S;
    d->mean_s = d->mean_s > 0 ? 0.8 * d->mean_s + 0.2 * s : s;
    d->last_end_ns = now;
}

static void leave_queued(struct entry *e)
{
    e->started_ms = 0;
    stop_running(e);
    entry_state(e, JOB_QUEUED);
    entry_unref(e);
}

/* The grade could not be made: stopped, late, or not possible at all. */
static void end_failed(struct entry *e, const kgrade_error *err)
{
    bool cancelled = !strcmp(err->code, "cancelled");
    if (cancelled && !e->end_code && e->jobs->stopping) {
        leave_queued(e);
        return;
    }
    if (cancelled) {
        work_cancel(e, e->end_code ? e->end_code : "cancelled");
        return;
    }
    entry_error(e, err);
    work_cancel(e, e->error ? e->error->code : "out_of_memory");
}

static void end_grade(struct worker *w, bool failed, struct graded *graded, const kgrade_error *err)
{
    struct entry *e = w->entry;
    struct jobs *jobs = e->jobs;
    struct ending *ending = failed ? NULL : calloc(1, sizeof *ending);
    if (ending)
        outcome_read(graded->json, &ending->outcome);
    uint64_t now = io_now();
    bool finishes = false;
    jobs_lock(jobs);
    if (failed) {
        end_failed(e, err);
    } else if (e->end_code || !ending) {
        /* Whoever was told that it will be cancelled was told the truth. */
        work_cancel(e, e->end_code ? e->end_code : "out_of_memory");
    } else if (graded->verdict == KGRADE_INFRASTRUCTURE_ERROR && ending->outcome.retryable &&
               jobs->draining) {
        /* What fails while everything is being stopped says nothing about the candidate. */
        leave_queued(e);
    } else {
        learn_time(w->device, w->began_ns, now);
        e->verdict = graded->verdict;
        e->score = graded->score;
        e->result = graded->json;
        graded->json = NULL;
        e->ended_ms = io_unix_ms();
        e->over = finishes = true;
        ending->entry = e;
    }
    jobs_unlock(jobs);
    if (finishes)
        finish(e, ending);
    else
        free(ending);
    free(graded->json);
}

/* The source stays on disk until it is needed.  False: the job goes back, for the store does not give it. */
static bool fetch_source(struct worker *w, struct store_row *row)
{
    struct entry *e = w->entry;
    struct jobs *jobs = e->jobs;
    kgrade_error err;
    int got = store_get(jobs->store, e->id, STORE_WITH_SOURCE, row, &err);
    if (got == 0 && row->source)
        return true;
    if (got < 0)
        log_line(LOG_LEVEL_WARNING, "grade id=%s waits: %s", e->id, err.message);
    jobs_lock(jobs);
    if (e->end_code) {
        work_cancel(e, e->end_code);
    } else if (got >= 0) {
        work_cancel(e, "unknown_grade");
    } else if (schedule_count(e, NULL)) {
        work_cancel(e, "out_of_memory");
    } else {
        w->device->paused_until = io_now() + JOBS_STORE_RETRY_NS;
        schedule_put(e, true);
        stop_running(e);
    }
    jobs_unlock(jobs);
    return false;
}

/* False: it is to be cancelled, and is. */
static bool begin(struct worker *w)
{
    struct entry *e = w->entry;
    struct jobs *jobs = e->jobs;
    jobs_lock(jobs);
    bool begins = !e->end_code && !jobs->draining;
    if (begins) {
        w->began_ns = w->heard_ns = w->clock_ns = io_now();
        w->spent_ns = 0;
        e->started_ms = io_unix_ms();
        entry_state(e, JOB_RUNNING);
    } else if (e->end_code) {
        work_cancel(e, e->end_code);
    } else {
        leave_queued(e);
    }
    jobs_unlock(jobs);
    return begins;
}

static void grade(struct worker *w)
{
    struct entry *e = w->entry;
    struct jobs *jobs = e->jobs;
    struct store_row row = {0};
    if (fetch_source(w, &row) && begin(w)) {
        struct graded graded = {0};
        kgrade_error err;
        const kgrade_request request = {.task = row.task,
                                        .device = row.device,
                                        .language = row.language,
                                        .source = row.source,
                                        .source_size = row.source_size,
                                        .id = row.id,
                                        .profile = row.profile};
        store_begin(jobs->store, row.id);
        bool failed =
            jobs->engine.grade(jobs->engine.kgrade, &request, keep_going, w, &graded, &err) != 0;
        end_grade(w, failed, &graded, &err);
    }
    store_row_free(&row);
}

/* --- the threads --- */

static struct entry *take(struct worker *w)
{
    struct device_queue *d = w->device;
    struct entry *e = NULL;
    while (!d->jobs->draining && !e) {
        bool paused = d->paused_until > io_now();
        if (!paused)
            e = schedule_take(d);
        if (!e)
            condition_wait(&d->work, &d->jobs->lock, paused ? d->paused_until : IO_NO_DEADLINE);
    }
    if (e)
        schedule_number(d);
    if (d->queued)
        pthread_cond_signal(&d->work);
    return e;
}

void *work_thread(void *data)
{
    struct worker *w = data;
    struct device_queue *d = w->device;
    struct jobs *jobs = d->jobs;
    jobs_lock(jobs);
    while ((w->entry = take(w))) {
        w->heard_ns = io_now();
        jobs_unlock(jobs);
        grade(w);
        jobs_lock(jobs);
        w->entry = NULL;
        d->busy--;
        d->misplaced = true;
    }
    jobs->threads_alive--;
    pthread_cond_broadcast(&jobs->thread_ended);
    jobs_unlock(jobs);
    return NULL;
}

static void end_if_late(struct entry *e, void *data)
{
    uint64_t now = *(uint64_t *)data;
    if (!e->deadline_ns)
        return;
    if (e->deadline_ns <= now) {
        schedule_remove(e);
        work_cancel(e, "deadline_exceeded");
    } else if (e->deadline_ns < e->jobs->next_deadline) {
        e->jobs->next_deadline = e->deadline_ns;
    }
}

static void end_late(struct jobs *jobs)
{
    uint64_t now = io_now();
    jobs->next_deadline = IO_NO_DEADLINE;
    for (unsigned i = 0; i < jobs->n_devices; i++)
        schedule_each(&jobs->devices[i], end_if_late, &now);
}

void *work_timer(void *data)
{
    struct jobs *jobs = data;
    jobs_lock(jobs);
    while (!jobs->closing) {
        if (!jobs->draining && io_now() >= jobs->next_deadline)
            end_late(jobs);
        if (jobs_have_listed(jobs)) {
            for (unsigned i = 0; i < jobs->n_devices; i++)
                if (jobs->devices[i].misplaced)
                    schedule_number(&jobs->devices[i]); /* somebody in the line has gone */
            jobs_unlock(jobs);
            jobs_lock(jobs);
        } else {
            condition_wait(&jobs->timer_changed, &jobs->lock,
                           jobs->draining ? IO_NO_DEADLINE : jobs->next_deadline);
        }
    }
    jobs_unlock(jobs);
    return NULL;
}
