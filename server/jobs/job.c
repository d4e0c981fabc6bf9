/* One job: its references, its state, its events, and those who watch it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../sandbox/base/fail.h"
#include "internal.h"

#define FIRST_EVENTS 8u

/* --- entries and the tables that find them --- */

struct entry *entry_new(struct jobs *jobs, kgrade_error *err)
{
    struct entry *e = calloc(1, sizeof *e);
    if (!e) {
        fail(err, "out_of_memory", NULL, "There is no memory for a job.");
        return NULL;
    }
    e->jobs = jobs;
    e->references = 1;
    LIST_INIT(&e->handles);
    jobs->references++;
    return e;
}

void entry_copy_row(struct entry *e, const struct store_row *row)
{
    memcpy(e->id, row->id, sizeof e->id);
    memcpy(e->request_hash, row->request_hash, sizeof e->request_hash);
    memcpy(e->task, row->task, sizeof e->task);
    memcpy(e->device_name, row->device, sizeof e->device_name);
    memcpy(e->language, row->language, sizeof e->language);
    memcpy(e->owner_name, row->owner, sizeof e->owner_name);
    e->created_ms = row->created_ms;
}

void entry_ref(struct entry *e)
{
    e->references++;
}

void entry_unref(struct entry *e)
{
    if (--e->references)
        return;
    entry_unlist(e);
    e->jobs->references--;
    free(e->key);
    free(e->events);
    free(e->result);
    free(e->error);
    free(e);
}

static struct entry **bucket(struct entry **buckets, const char *a, const char *b)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *parts[] = {a, b, NULL}, **part = parts; *part; part++)
        for (const unsigned char *c = (const unsigned char *)*part; *c; c++)
            hash = (hash ^ *c) * 16777619u;
    return &buckets[hash % JOBS_BUCKETS];
}

void entry_list(struct entry *e)
{
    struct entry **at = bucket(e->jobs->by_id, e->id, "");
    e->next_by_id = *at;
    *at = e;
    if (e->key) {
        at = bucket(e->jobs->by_key, e->owner_name, e->key);
        e->next_by_key = *at;
        *at = e;
    }
    e->listed = true;
}

void entry_unlist(struct entry *e)
{
    if (!e->listed)
        return;
    struct entry **at = bucket(e->jobs->by_id, e->id, "");
    while (*at != e)
        at = &(*at)->next_by_id;
    *at = e->next_by_id;
    if (e->key) {
        at = bucket(e->jobs->by_key, e->owner_name, e->key);
        while (*at != e)
            at = &(*at)->next_by_key;
        *at = e->next_by_key;
    }
    e->listed = false;
}

struct entry *entry_find(struct jobs *jobs, const char *id)
{
    struct entry *e = *bucket(jobs->by_id, id, "");
    while (e && strcmp(e->id, id))
        e = e->next_by_id;
    return e;
}

struct entry *entry_find_key(struct jobs *jobs, const char *owner, const char *key)
{
    struct entry *e = *bucket(jobs->by_key, owner, key);
    while (e && (strcmp(e->key, key) || strcmp(e->owner_name, owner)))
        e = e->next_by_key;
    return e;
}

/* --- watchers --- */

static void list_call(struct job_watch *watch)
{
    if (!watch->changed || watch->pending)
        return;
    if (watch->calling) {
        watch->again = true;
        return;
    }
    watch->pending = true;
    TAILQ_INSERT_TAIL(&watch->job->entry->jobs->to_call, watch, next);
}

static void tell_watchers(struct entry *e)
{
    struct job *job;
    LIST_FOREACH(job, &e->handles, next)
    {
        list_call(&job->watch);
    }
}

struct job_watch *job_watch(struct job *job, void (*changed)(void *data), void *data)
{
    struct jobs *jobs = job->entry->jobs;
    struct job_watch *watch = NULL;
    jobs_lock(jobs);
    if (!job->watch.changed) {
        watch = &job->watch;
        watch->changed = changed;
        watch->data = data;
    }
    jobs_leave(jobs);
    return watch;
}

static void unwatch(struct jobs *jobs, struct job_watch *watch)
{
    watch->changed = NULL;
    watch->again = false;
    if (watch->pending) {
        TAILQ_REMOVE(&jobs->to_call, watch, next);
        watch->pending = false;
    }
    while (watch->calling && !pthread_equal(watch->caller, pthread_self()))
        pthread_cond_wait(&jobs->called, &jobs->lock);
}

void job_unwatch(struct job_watch *watch)
{
    if (!watch)
        return;
    struct jobs *jobs = watch->job->entry->jobs;
    jobs_lock(jobs);
    unwatch(jobs, watch);
    jobs_leave(jobs);
}

/* --- events --- */

static struct job_event *new_event(struct entry *e)
{
    if (e->n_events == e->events_room && e->events_room < JOB_MAX_EVENTS) {
        unsigned room = e->events_room ? 2 * e->events_room : FIRST_EVENTS;
        struct job_event *more = realloc(e->events, room * sizeof *more);
        if (more) {
            e->events = more;
            e->events_room = room;
        }
    }
    if (e->n_events < e->events_room)
        return &e->events[e->n_events++];
    /* Full, or no memory: the newest takes the place of the one before. */
    return e->n_events ? &e->events[e->n_events - 1] : NULL;
}

void entry_event(struct entry *e, const char *name, unsigned done, unsigned total)
{
    struct job_event *event = new_event(e);
    if (event)
        *event = (struct job_event){name, io_unix_ms(), done, total};
    tell_watchers(e);
}

/* The name with which the event log is kept; NULL: not a step that is told. */
static const char *known_step(const char *name)
{
    static const char *const names[] = {"queued",    "building", "recording",
                                        "replaying", "judging",  "profiling"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(names[i], name))
            return names[i];
    return NULL;
}

static bool says_more(const struct job_event *last, const char *name, unsigned done, unsigned total)
{
    if (strcmp(last->name, name))
        return true;
    if (!strcmp(name, "queued")) /* each of the last places, and every halving before */
        return done < last->done && (done < 8 || done <= last->done / 2);
    unsigned least = total > JOB_STEP_PARTS ? (total + JOB_STEP_PARTS - 1) / JOB_STEP_PARTS : 1;
    return done >= last->done + least || (done == total && done > last->done);
}

void entry_step(struct entry *e, const char *name, unsigned done, unsigned total)
{
    const char *step = known_step(name);
    if (step && (!e->n_events || says_more(&e->events[e->n_events - 1], step, done, total)))
        entry_event(e, step, done, total);
}

void entry_state(struct entry *e, enum job_state state)
{
    e->state = state;
    tell_watchers(e);
}

void entry_error(struct entry *e, const kgrade_error *err)
{
    if (!e->error)
        e->error = malloc(sizeof *e->error);
    if (e->error)
        *e->error = *err;
}

void entry_cancelled_error(struct entry *e, const char *code)
{
    static const struct {
        const char *code, *message, *hint;
    } texts[] = {
        {"cancelled", "The grade was cancelled.", "Send the request again to have it graded."},
        {"deadline_exceeded", "The grade was not over at its deadline.",
         "Give it more time, or send it when fewer grades are waiting."},
        {"client_gone", "The client went away before its grade began.",
         "Send the request again to have it graded."},
    };
    kgrade_error err;
    if (e->error && !strcmp(e->error->code, code))
        return;
    size_t i = 0;
    while (i < sizeof texts / sizeof texts[0] && strcmp(texts[i].code, code))
        i++;
    if (i < sizeof texts / sizeof texts[0])
        fail_set(&err, code, texts[i].hint, "%s", texts[i].message);
    else
        fail_set(&err, code, "Send the request again.", "The grade could not be begun (%.40s).",
                 code);
    entry_error(e, &err);
}

bool job_event(struct job *job, unsigned index, struct job_event *ret)
{
    struct jobs *jobs = job->entry->jobs;
    jobs_lock(jobs);
    bool found = index < job->entry->n_events;
    if (found)
        *ret = job->entry->events[index];
    jobs_leave(jobs);
    return found;
}

/* --- handles --- */

struct job *entry_handle(struct entry *e, bool reused, kgrade_error *err)
{
    struct job *job = calloc(1, sizeof *job);
    if (!job) {
        fail(err, "out_of_memory", NULL, "There is no memory for a job.");
        return NULL;
    }
    job->entry = e;
    job->reused = reused;
    job->watch.job = job;
    entry_ref(e);
    LIST_INSERT_HEAD(&e->handles, job, next);
    return job;
}

static void forget(struct entry *e)
{
    if (e->told || !LIST_EMPTY(&e->handles) || e->over || e->jobs->closed)
        return;
    if (e->state == JOB_STORING && !e->end_code) {
        e->end_code = "client_gone";
    } else if (e->queued) {
        schedule_remove(e);
        work_cancel(e, "client_gone");
    }
}

void job_release(struct job *job)
{
    if (!job)
        return;
    struct entry *e = job->entry;
    struct jobs *jobs = e->jobs;
    jobs_lock(jobs);
    unwatch(jobs, &job->watch);
    LIST_REMOVE(job, next);
    forget(e);
    if (job->watch.calling)
        job->released = true;
    else
        free(job);
    entry_unref(e);
    jobs_leave(jobs);
}

void job_tell(struct job *job)
{
    struct jobs *jobs = job->entry->jobs;
    jobs_lock(jobs);
    job->entry->told = true;
    jobs_leave(jobs);
}

/* From the mean time between ends: those ahead, then the job itself. */
static double estimate(const struct entry *e)
{
    const struct device_queue *d = e->device;
    if (!d || e->over || !(d->mean_s > 0))
        return 0;
    if (e->state == JOB_STORING || e->state == JOB_QUEUED)
        return d->mean_s * (e->ahead + 1);
    if (e->state != JOB_RUNNING)
        return 0;
    double ran = (double)(io_unix_ms() - e->started_ms) / 1000;
    double left = d->mean_s - (ran > 0 ? ran : 0);
    return left > d->mean_s / 10 ? left : d->mean_s / 10;
}

void job_look(struct job *job, struct job_view *ret)
{
    const struct entry *e = job->entry;
    jobs_lock(e->jobs);
    if (e->queued)
        schedule_place(e->device);
    *ret = (struct job_view){.state = e->state,
                             .id = e->id,
                             .task = e->task,
                             .device = e->device_name,
                             .owner = e->owner_name,
                             .ahead = e->state == JOB_QUEUED ? e->ahead : 0,
                             .estimate_s = estimate(e),
                             .reused = job->reused,
                             .verdict = e->verdict,
                             .score = e->score,
                             .result = e->state == JOB_DONE ? e->result : NULL,
                             .created_ms = e->created_ms,
                             .started_ms = e->started_ms,
                             .ended_ms = e->ended_ms,
                             .events = e->n_events};
    if (e->error)
        ret->error = *e->error;
    jobs_leave(e->jobs);
}

int job_cancel(struct job *job, kgrade_error *err)
{
    struct entry *e = job->entry;
    struct jobs *jobs = e->jobs;
    int result = 0;
    jobs_lock(jobs);
    if (jobs->closed) {
        result = fail(err, "shutting_down", "Ask again when the server is back.",
                      "The server is shutting down.");
    } else if (e->over || e->state == JOB_DONE || e->state == JOB_CANCELLED ||
               e->state == JOB_REFUSED) {
        result = fail(err, "already_done", "GET /grades/{id} tells how it ended.",
                      "The grade is over already.");
    } else if (e->queued) {
        schedule_remove(e);
        work_cancel(e, "cancelled");
    } else if (!e->device) { /* only in the store, where no thread of this process comes to it */
        entry_ref(e);
        work_cancel(e, "cancelled");
    } else if (!e->end_code) {
        e->end_code = "cancelled";
    }
    jobs_leave(jobs);
    return result;
}
