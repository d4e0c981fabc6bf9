/*
 * Jobs: grades that were asked for, from the request to the stored result.
 *
 * A job is on disk before anybody is told of it.  Then it waits in the queue of its device, fairly between owners (one
 * of each in turn), is graded by one of the device's threads, and its end is on disk before anybody is told of that.
 * After a crash the queue is what the store says.
 *
 * Whoever looks at a job holds a reference.  A watcher is told, from a thread of the jobs or of the store and
 * without a lock held (never from within a function of this header), whenever something about the job changed; it then
 * looks at the job's state and events.
 *
 * All functions may be called from any thread.
 */
#ifndef KGRADED_JOBS_H
#define KGRADED_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "../store/store.h"
#include "kgrade/kgrade.h"

struct jobs;
struct job;

struct jobs_options {
    unsigned queue; /* jobs that may wait, over all devices and owners; beyond: `queue_full` */
    unsigned queue_per_owner; /* beyond: `quota_exceeded`; 0: as many as `queue` */
    unsigned
        builds_ahead; /* threads of a device beyond its one slot: they build while it is taken */
    double
        max_grade_s; /* of one grade, from its begin, waiting for the device left out; then `deadline_exceeded`; 0: none */

    /* Called once for each grade that has ended and is on disk, with its result (schema kgrade.grade/1), from any
     * thread and without a lock held.  NULL: not called. */
    void (*graded)(void *data, const char *result);
    void *graded_data;
};

/* Queues what the store holds, starts the threads.  engine and store must outlive it.  Errors: `out_of_memory`,
 * `thread_failed`, `store_unavailable`. */
int jobs_open(kgrade *engine, struct store *store, const struct jobs_options *options,
              struct jobs **ret, kgrade_error *err);

/* Takes over queue, queue_per_owner and max_grade_s from options.  What waits already stays. */
void jobs_set_limits(struct jobs *jobs, const struct jobs_options *options);

struct jobs_request {
    kgrade_request grade;        /* must have passed kgrade_check_request; strings are copied */
    const char *owner;           /* name of the token */
    const char *idempotency_key; /* NULL: none */
    bool reuse;                  /* an earlier grade of the same may be the answer */
    double deadline_s;           /* from now to the end of the grade; 0: none */
    unsigned owner_queue; /* jobs of this owner that may wait; 0: the option's queue_per_owner */
};

/* Makes a job.  It is ACCEPTED only once its watcher was told so: until then it is being stored.  Errors now:
 * `queue_full`, `quota_exceeded`, `shutting_down`, `out_of_memory`, `thread_failed`, `name_too_long`,
 * `idempotency_key_too_long`; through the job (state JOB_REFUSED, its view's error): `store_unavailable`,
 * `idempotency_key_reused` (the key came with another request before).  With a key that is known, or with `reuse`, *ret may
 * be an earlier job, whose view then says `reused`.  Who gives a key will come back with it: such a job counts as told.
 * The caller gets a reference. */
int jobs_submit(struct jobs *jobs, const struct jobs_request *request, struct job **ret,
                kgrade_error *err);

/* A reference to the job of that id, live or from the store; NULL with `unknown_grade` or `store_unavailable`. */
struct job *jobs_find(struct jobs *jobs, const char *id, kgrade_error *err);

/* Gives the reference back.  NULL is allowed.  A job that was never told to anyone (job_tell) is forgotten when the last
 * reference is given back before its grade begins. */
void job_release(struct job *job);

/* From now on somebody knows the job's id: it must come to its end even if nobody watches. */
void job_tell(struct job *job);

enum job_state { JOB_STORING, JOB_REFUSED, JOB_QUEUED, JOB_RUNNING, JOB_DONE, JOB_CANCELLED };

struct job_view {
    enum job_state state;
    const char *id, *task, *device, *owner; /* live as long as the reference */
    unsigned ahead;                         /* jobs that will come before it, when queued */
    double estimate_s;                      /* until it is done, from recent grades; 0: unknown */
    bool reused;            /* jobs_submit found it: it was there before it was asked for */
    kgrade_verdict verdict; /* when done */
    double score;
    const char *result;                       /* JSON, when done; lives as long as the reference */
    kgrade_error error;                       /* when refused or cancelled */
    int64_t created_ms, started_ms, ended_ms; /* Unix time; 0: not yet */
    unsigned events;                          /* how many there are so far */
};
void job_look(struct job *job, struct job_view *ret);

/* Event number `index`, from 0: "queued", "building", "recording", "replaying", "judging", "profiling", "done",
 * "cancelled".  False when there is none yet.  Steps that were repeated quickly may be merged; the last event is "done"
 * or "cancelled". */
struct job_event {
    const char *name;
    int64_t at_ms;        /* Unix time */
    unsigned done, total; /* cases within the step; for "queued" done is how many are ahead */
};
bool job_event(struct job *job, unsigned index, struct job_event *ret);

/* Has changed(data) called after every change of state and every new event until job_unwatch, which waits for a call that
 * is under way (unless it is made from within that call).  Calls for one watcher never overlap.  At most one watcher per
 * reference: NULL when there is one. */
struct job_watch *job_watch(struct job *job, void (*changed)(void *data), void *data);
void job_unwatch(struct job_watch *watch);

/* Ends a job that is not done: takes it out of the queue or stops its grade and kills its jails.  The state changes
 * when that is done and stored.  Errors: `already_done`. */
int job_cancel(struct job *job, kgrade_error *err);

struct jobs_counts {
    unsigned waiting, running, limit;
    double oldest_s; /* how long the oldest waiting job has waited */
    uint64_t done;   /* since the start */
};
void jobs_count(struct jobs *jobs, const char *device /* NULL: all */, struct jobs_counts *ret);

/* Seconds until a place in the queue is likely to be free, at least 1. */
unsigned jobs_estimate_s(struct jobs *jobs);

/* Something moved lately, or there is nothing to do: the condition for feeding a watchdog.  False when a grade has made
 * no progress for longer than all its deadlines allow. */
bool jobs_alive(struct jobs *jobs);

/* Takes no more jobs and begins no more grades; those that run go on.  Waiting ones stay queued in the store. */
void jobs_drain(struct jobs *jobs);
/* Stops running grades; they stay queued in the store. */
void jobs_stop_running(struct jobs *jobs);
/* Waits for the running ones and frees.  False when one was still running at deadline (CLOCK_MONOTONIC ns): then nothing
 * is freed, and neither may engine and store be. */
bool jobs_close(struct jobs *jobs, uint64_t deadline);

#endif
