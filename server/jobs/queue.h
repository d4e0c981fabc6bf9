/*
 * The queue of grades and the threads that work on it.
 *
 * A job is owned by whoever made it and, between queue_submit and the end of its grade, by the
 * queue as well.  It is answered exactly once: by the thread that graded it, or by queue_drain or
 * queue_cancel.  Answering fills `answer` and then calls `answered`, from another thread and with
 * no lock held; from then on nothing changes in it.
 */
#ifndef KGRADED_QUEUE_H
#define KGRADED_QUEUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "kgrade/kgrade.h"

struct queue;
struct job;

struct job_answer {
    char *json; /* the result, schema kgrade.grade/1; NULL: error tells why there is none */
    kgrade_verdict verdict;
    double score;
    kgrade_error error; /* a code of kgrade_grade, `client_gone` or `shutting_down` */
    uint64_t queued_ns, started_ns, ended_ns; /* CLOCK_MONOTONIC; started_ns 0: never began */
};

struct job_events {
    void (*answered)(void *owner);
    bool (*abandoned)(
        void *owner); /* asked before a grade begins; true: nobody waits for it any more */
};

/* Takes over the reference to root, in which the strings of request live.  NULL without memory. */
struct job *job_new(json_t *root, const kgrade_request *request, const struct job_events *events,
                    void *owner);
const struct job_answer *job_answer(const struct job *job);
/* The owner lets go of it: before it was submitted, or after it was answered. NULL is allowed. */
void job_free(struct job *job);

struct queue_counts {
    unsigned waiting, running, limit;
    uint64_t graded; /* since the start */
};

/* Starts the threads; `limit` jobs may wait beside those that run.  Errors: `out_of_memory`,
 * `thread_failed`. */
int queue_start(kgrade *engine, unsigned workers, unsigned limit, struct queue **ret,
                kgrade_error *err);

/* Errors: `queue_full`, `shutting_down`.  *ret_ahead is how many jobs come before it. */
int queue_submit(struct queue *queue, struct job *job, unsigned *ret_ahead, kgrade_error *err);

struct queue_counts queue_counts(struct queue *queue);

/* Seconds until a place is likely to be free, at least 1: from the mean time of recent grades. */
unsigned queue_estimate_s(struct queue *queue);

/* Refuses new jobs from now on and answers those that wait with `shutting_down`. */
void queue_drain(struct queue *queue);

/* Tells running grades to stop, and answers them with `shutting_down` at once, without waiting for
 * them. */
void queue_cancel(struct queue *queue);

/* Ends the threads of a drained queue and frees it.  False when a grade is still running at
 * deadline: then neither the queue nor its engine may be freed. */
bool queue_stop(struct queue *queue, uint64_t deadline);

#endif
