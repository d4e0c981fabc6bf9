#define _GNU_SOURCE
#include "queue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "../log.h"

#define FIRST_ESTIMATE_S 5
#define MAX_ESTIMATE_S 600

#define SHUTDOWN_HINT "Send the request again when the server is back."

struct job {
    struct job *next;
    json_t *root;
    kgrade_request request;
    const struct job_events *events;
    void *owner;
    struct job_answer answer;
    bool is_answered;
    atomic_int references; /* of the owner and of the queue */
};

struct worker {
    struct queue *queue;
    pthread_t thread;
    struct job *job; /* being graded */
};

struct queue {
    kgrade *engine;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct job *first, **end;
    struct queue_counts counts;
    double mean_s; /* of recent grades; 0: there were none */
    bool draining;
    atomic_bool cancelled;
    unsigned n_workers;
    unsigned n_alive;
    struct worker workers[];
};

struct job *job_new(json_t *root, const kgrade_request *request, const struct job_events *events,
                    void *owner)
{
    struct job *job = calloc(1, sizeof *job);
    if (!job) {
        json_decref(root);
        return NULL;
    }
    job->root = root;
    job->request = *request;
    job->events = events;
    job->owner = owner;
    atomic_init(&job->references, 1);
    return job;
}

const struct job_answer *job_answer(const struct job *job)
{
    return &job->answer;
}

void job_free(struct job *job)
{
    if (!job || atomic_fetch_sub(&job->references, 1) != 1)
        return;
    json_decref(job->root);
    free(job->answer.json);
    free(job);
}

/* Fills the answer unless there is one.  Returns whether it did: then the caller calls
 * events->answered after letting go of the lock. */
static bool answer_locked(struct job *job, const struct job_answer *answer)
{
    if (job->is_answered)
        return false;
    uint64_t queued = job->answer.queued_ns;
    job->answer = *answer;
    job->answer.queued_ns = queued;
    job->is_answered = true;
    return true;
}

static void shutdown_answer(struct job_answer *ret, const char *message)
{
    memset(ret, 0, sizeof *ret);
    fail(&ret->error, "shutting_down", SHUTDOWN_HINT, "%s", message);
    ret->ended_ns = io_now();
}

static bool keep_going(void *data, const char *step, unsigned done, unsigned total)
{
    struct queue *queue = data;
    log_line(LOG_LEVEL_DEBUG, "grade step=%s done=%u total=%u", step, done, total);
    return !atomic_load(&queue->cancelled);
}

static void grade(struct queue *queue, const struct job *job, struct job_answer *ret)
{
    kgrade_result *result = NULL;
    ret->started_ns = io_now();
    if (!kgrade_grade(queue->engine, &job->request, keep_going, queue, &result, &ret->error)) {
        ret->verdict = kgrade_result_verdict(result);
        ret->score = kgrade_result_score(result);
        ret->json = strdup(kgrade_result_json(result));
        if (!ret->json)
            fail(&ret->error, "out_of_memory", NULL, "There was no memory for the result.");
        kgrade_result_free(result);
    } else if (!strcmp(ret->error.code, "cancelled")) {
        fail(&ret->error, "shutting_down", SHUTDOWN_HINT,
             "The server shut down before the grade was over.");
    }
    ret->ended_ns = io_now();
}

static struct job *take(struct worker *worker)
{
    struct queue *queue = worker->queue;
    struct job *job = NULL;
    pthread_mutex_lock(&queue->lock);
    while (!queue->first && !queue->draining)
        pthread_cond_wait(&queue->changed, &queue->lock);
    if (queue->first) {
        job = queue->first;
        queue->first = job->next;
        if (!queue->first)
            queue->end = &queue->first;
        worker->job = job;
        queue->counts.waiting--;
        queue->counts.running++;
    } else {
        queue->n_alive--;
        pthread_cond_broadcast(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return job;
}

/* The owner lives until its job is answered, so it is asked under the lock that answering takes. */
static bool is_abandoned(struct queue *queue, const struct job *job)
{
    pthread_mutex_lock(&queue->lock);
    bool abandoned = job->is_answered || job->events->abandoned(job->owner);
    pthread_mutex_unlock(&queue->lock);
    return abandoned;
}

static void *work(void *data)
{
    struct worker *worker = data;
    struct queue *queue = worker->queue;
    struct job *job;
    while ((job = take(worker))) {
        struct job_answer answer = {0};
        if (is_abandoned(queue, job)) {
            fail(&answer.error, "client_gone", NULL,
                 "The client went away before its grade began.");
            answer.ended_ns = io_now();
        } else {
            grade(queue, job, &answer);
        }

        pthread_mutex_lock(&queue->lock);
        worker->job = NULL;
        queue->counts.running--;
        if (answer.started_ns) {
            double s = (double)(answer.ended_ns - answer.started_ns) / (double)IO_NS_PER_S;
            queue->mean_s = queue->mean_s > 0 ? 0.8 * queue->mean_s + 0.2 * s : s;
            queue->counts.graded++;
        }
        bool ours = answer_locked(job, &answer);
        pthread_mutex_unlock(&queue->lock);

        if (ours)
            job->events->answered(job->owner);
        else
            free(answer.json);
        job_free(job);
    }
    return NULL;
}

int queue_start(kgrade *engine, unsigned workers, unsigned limit, struct queue **ret,
                kgrade_error *err)
{
    struct queue *queue = calloc(1, sizeof *queue + workers * sizeof *queue->workers);
    if (!queue)
        return fail(err, "out_of_memory", NULL, "There is no memory for the queue.");
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&queue->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&queue->lock, NULL);
    queue->engine = engine;
    queue->end = &queue->first;
    queue->counts.limit = limit;

    int failed = 0;
    pthread_mutex_lock(&queue->lock);
    for (unsigned i = 0; i < workers && !failed; i++) {
        struct worker *worker = &queue->workers[i];
        worker->queue = queue;
        failed = pthread_create(&worker->thread, NULL, work, worker);
        if (!failed)
            queue->n_alive = ++queue->n_workers;
    }
    pthread_mutex_unlock(&queue->lock);
    if (failed) {
        fail(err, "thread_failed", NULL, "Cannot start a grading thread: %s", strerror(failed));
        queue_drain(queue);
        queue_stop(queue, IO_NO_DEADLINE);
        return -1;
    }
    *ret = queue;
    return 0;
}

int queue_submit(struct queue *queue, struct job *job, unsigned *ret_ahead, kgrade_error *err)
{
    int failed = 0;
    pthread_mutex_lock(&queue->lock);
    unsigned idle = queue->n_workers - queue->counts.running;
    if (queue->draining) {
        failed = fail(err, "shutting_down", SHUTDOWN_HINT, "The server is shutting down.");
    } else if (queue->counts.waiting >= queue->counts.limit + idle) {
        failed = fail(
            err, "queue_full", "Send the request again after the seconds that Retry-After gives.",
            "%u grades are running and %u are waiting, which is as many as the server takes.",
            queue->counts.running, queue->counts.waiting);
    } else {
        *ret_ahead = queue->counts.waiting + queue->counts.running;
        atomic_fetch_add(&job->references, 1);
        job->answer.queued_ns = io_now();
        *queue->end = job;
        queue->end = &job->next;
        queue->counts.waiting++;
        pthread_cond_signal(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return failed;
}

struct queue_counts queue_counts(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    struct queue_counts counts = queue->counts;
    pthread_mutex_unlock(&queue->lock);
    return counts;
}

unsigned queue_estimate_s(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    double s = queue->mean_s > 0 ? queue->mean_s : FIRST_ESTIMATE_S;
    pthread_mutex_unlock(&queue->lock);
    /* With every place taken, one is freed when the next grade ends. */
    if (s >= MAX_ESTIMATE_S)
        return MAX_ESTIMATE_S;
    return (unsigned)s + 1;
}

void queue_drain(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    struct job *waiting = queue->first;
    queue->first = NULL;
    queue->end = &queue->first;
    queue->counts.waiting = 0;
    queue->draining = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);

    /* No thread can reach these any more. */
    while (waiting) {
        struct job *job = waiting;
        waiting = job->next;
        struct job_answer answer;
        shutdown_answer(&answer, "The server shut down before the grade began.");
        answer_locked(job, &answer);
        job->events->answered(job->owner);
        job_free(job);
    }
}

void queue_cancel(struct queue *queue)
{
    atomic_store(&queue->cancelled, true);
    for (unsigned i = 0; i < queue->n_workers; i++) {
        struct job_answer answer;
        shutdown_answer(&answer, "The server shut down before the grade was over.");
        pthread_mutex_lock(&queue->lock);
        struct job *job = queue->workers[i].job;
        bool ours = job && answer_locked(job, &answer);
        if (ours)
            atomic_fetch_add(&job->references, 1);
        pthread_mutex_unlock(&queue->lock);
        if (ours) {
            job->events->answered(job->owner);
            job_free(job);
        }
    }
}

bool queue_stop(struct queue *queue, uint64_t deadline)
{
    struct timespec until = {(time_t)(deadline / IO_NS_PER_S), (long)(deadline % IO_NS_PER_S)};
    int timed_out = 0;
    pthread_mutex_lock(&queue->lock);
    while (queue->n_alive && !timed_out) {
        if (deadline == IO_NO_DEADLINE)
            pthread_cond_wait(&queue->changed, &queue->lock);
        else
            timed_out = pthread_cond_timedwait(&queue->changed, &queue->lock, &until);
    }
    bool ended = !queue->n_alive;
    pthread_mutex_unlock(&queue->lock);
    if (!ended)
        return false;
    for (unsigned i = 0; i < queue->n_workers; i++)
        pthread_join(queue->workers[i].thread, NULL);
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
    return true;
}
