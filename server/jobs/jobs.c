/* Opening and closing, the devices, the lock, and figures of it all. */
#define _GNU_SOURCE
#include "jobs.h"

#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/condition.h"
#include "../../sandbox/base/fail.h"
#include "internal.h"

#define FIRST_ESTIMATE_S 5
#define MAX_ESTIMATE_S 600

/* --- the lock, and what is done without it --- */

/* Set while this thread is in a watcher's call or a call to the store. */
static _Thread_local const struct jobs *unlocking;

void jobs_lock(struct jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
}

static void destroy(struct jobs *jobs)
{
    for (unsigned i = 0; i < jobs->n_devices; i++) {
        pthread_cond_destroy(&jobs->devices[i].work);
        free(jobs->devices[i].workers);
    }
    pthread_cond_destroy(&jobs->timer_changed);
    pthread_cond_destroy(&jobs->thread_ended);
    pthread_cond_destroy(&jobs->called);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
}

static void call(struct jobs *jobs, struct job_watch *watch)
{
    void (*changed)(void *data) = watch->changed;
    void *data = watch->data;
    TAILQ_REMOVE(&jobs->to_call, watch, next);
    watch->pending = false;
    watch->calling = true;
    watch->caller = pthread_self();
    pthread_mutex_unlock(&jobs->lock);
    changed(data);
    pthread_mutex_lock(&jobs->lock);
    watch->calling = false;
    if (watch->job->released) {
        free(watch->job);
        return;
    }
    if (watch->again && watch->changed) {
        watch->pending = true;
        TAILQ_INSERT_TAIL(&jobs->to_call, watch, next);
    }
    watch->again = false;
    pthread_cond_broadcast(&jobs->called);
}

static void cancel(struct jobs *jobs, struct entry *e)
{
    char id[STORE_ID_SIZE];
    const char *code = e->end_code;
    STAILQ_REMOVE_HEAD(&jobs->to_cancel, to_cancel);
    memcpy(id, e->id, sizeof id);
    pthread_mutex_unlock(&jobs->lock);
    store_cancel(jobs->store, id, code, work_cancelled, e);
    pthread_mutex_lock(&jobs->lock);
}

bool jobs_have_listed(const struct jobs *jobs)
{
    return !STAILQ_EMPTY(&jobs->to_cancel) || !TAILQ_EMPTY(&jobs->to_call);
}

void jobs_unlock(struct jobs *jobs)
{
    if (unlocking != jobs) {
        const struct jobs *before = unlocking;
        unlocking = jobs;
        jobs->references++;
        while (jobs_have_listed(jobs)) {
            if (!STAILQ_EMPTY(&jobs->to_cancel))
                cancel(jobs, STAILQ_FIRST(&jobs->to_cancel));
            else
                call(jobs, TAILQ_FIRST(&jobs->to_call));
        }
        jobs->references--;
        unlocking = before;
    }
    jobs_leave(jobs);
}

void jobs_leave(struct jobs *jobs)
{
    bool last = jobs->references == 0;
    if (jobs_have_listed(jobs))
        pthread_cond_signal(&jobs->timer_changed);
    pthread_mutex_unlock(&jobs->lock);
    if (last)
        destroy(jobs);
}

/* --- devices --- */

static int start_threads(struct jobs *jobs, struct device_queue *d, kgrade_error *err)
{
    for (unsigned i = 0; i < jobs->n_workers; i++) {
        struct worker *w = &d->workers[i];
        w->device = d;
        int failed = pthread_create(&w->thread, NULL, work_thread, w);
        if (failed)
            return fail(err, "thread_failed", NULL, "Cannot start a grading thread: %s",
                        strerror(failed));
        w->started = true;
        jobs->threads_alive++;
    }
    return 0;
}

struct device_queue *jobs_device(struct jobs *jobs, const char *name, kgrade_error *err)
{
    for (unsigned i = 0; i < jobs->n_devices; i++)
        if (!strcmp(jobs->devices[i].name, name))
            return &jobs->devices[i];
    struct device_queue *d = &jobs->devices[jobs->n_devices];
    struct worker *workers = calloc(jobs->n_workers, sizeof *workers);
    if (!workers || jobs->n_devices == JOBS_MAX_DEVICES) {
        free(workers);
        fail(err, "out_of_memory", NULL, "There is no room for one more device.");
        return NULL;
    }
    *d = (struct device_queue){.jobs = jobs, .index = jobs->n_devices, .workers = workers};
    strcpy(d->name, name);
    TAILQ_INIT(&d->turns);
    condition_init(&d->work);
    jobs->n_devices++;
    /* With some of its threads a device works, only slower. */
    if (start_threads(jobs, d, err) && !workers[0].started) {
        jobs->n_devices--;
        pthread_cond_destroy(&d->work);
        free(workers);
        return NULL;
    }
    return d;
}

/* --- from the store into the queue --- */

void jobs_enqueue(struct entry *e)
{
    struct jobs *jobs = e->jobs;
    e->state = JOB_QUEUED;
    e->queued_ns = io_now();
    entry_ref(e);
    schedule_put(e, false);
    pthread_cond_signal(&e->device->work);
    if (e->deadline_ns && e->deadline_ns < jobs->next_deadline) {
        jobs->next_deadline = e->deadline_ns;
        pthread_cond_signal(&jobs->timer_changed);
    }
}

struct loading {
    struct jobs *jobs;
    kgrade_error *err;
    bool failed;
};

static bool load(void *data, const struct store_row *row)
{
    struct loading *l = data;
    struct entry *e = entry_new(l->jobs, l->err);
    l->failed = true;
    if (!e)
        return false;
    entry_copy_row(e, row);
    e->told = true;
    if (row->deadline_ms) {
        int64_t left = row->deadline_ms - io_unix_ms();
        e->deadline_ns = io_now() + (left > 0 ? (uint64_t)left * IO_NS_PER_MS : 0);
    }
    e->device = jobs_device(l->jobs, e->device_name, l->err);
    l->failed = !e->device || schedule_count(e, l->err);
    if (!l->failed) {
        entry_list(e);
        jobs_enqueue(e);
        /* Clocks have gone on while there was no process to look at them. */
        int64_t waited = io_unix_ms() - e->created_ms;
        if (waited > 0 && (uint64_t)waited * IO_NS_PER_MS < e->queued_ns)
            e->queued_ns -= (uint64_t)waited * IO_NS_PER_MS;
    }
    entry_unref(e);
    return !l->failed;
}

/* --- open and close --- */

static int start_timer(struct jobs *jobs, kgrade_error *err)
{
    int failed = pthread_create(&jobs->timer, NULL, work_timer, jobs);
    if (failed)
        return fail(err, "thread_failed", NULL, "Cannot start the timer's thread: %s",
                    strerror(failed));
    jobs->timer_started = true;
    return 0;
}

int jobs_open_with(const struct jobs_engine *engine, struct store *store,
                   const struct jobs_options *options, struct jobs **ret, kgrade_error *err)
{
    struct jobs *jobs = calloc(1, sizeof *jobs);
    if (!jobs)
        return fail(err, "out_of_memory", NULL, "There is no memory for the queue.");
    jobs->engine = *engine;
    jobs->store = store;
    jobs->options = *options;
    jobs->n_workers = 1 + options->builds_ahead;
    jobs->max_silence_ns = JOBS_MAX_SILENCE_NS;
    jobs->references = 1;
    jobs->next_deadline = IO_NO_DEADLINE;
    pthread_mutex_init(&jobs->lock, NULL);
    condition_init(&jobs->timer_changed);
    condition_init(&jobs->thread_ended);
    condition_init(&jobs->called);
    LIST_INIT(&jobs->owners);
    STAILQ_INIT(&jobs->to_cancel);
    TAILQ_INIT(&jobs->to_call);

    jobs_lock(jobs);
    struct loading loading = {.jobs = jobs, .err = err};
    int failed = start_timer(jobs, err) || store_queued(store, load, &loading, err);
    jobs->draining = failed || loading.failed;
    jobs_leave(jobs);
    if (failed || loading.failed) {
        jobs_close(jobs, IO_NO_DEADLINE);
        return -1;
    }
    *ret = jobs;
    return 0;
}

int jobs_open(kgrade *engine, struct store *store, const struct jobs_options *options,
              struct jobs **ret, kgrade_error *err)
{
    const struct jobs_engine real = {engine, work_grade, kgrade_task_json};
    return jobs_open_with(&real, store, options, ret, err);
}

static void begin_drain(struct jobs *jobs)
{
    jobs->draining = true;
    for (unsigned i = 0; i < jobs->n_devices; i++)
        pthread_cond_broadcast(&jobs->devices[i].work);
}

void jobs_drain(struct jobs *jobs)
{
    jobs_lock(jobs);
    begin_drain(jobs);
    jobs_leave(jobs);
}

void jobs_stop_running(struct jobs *jobs)
{
    jobs_lock(jobs);
    jobs->stopping = true;
    jobs_leave(jobs);
}

static void let_go(struct entry *e, void *data)
{
    (void)data;
    schedule_remove(e);
    entry_unref(e);
}

bool jobs_close(struct jobs *jobs, uint64_t deadline)
{
    jobs_lock(jobs);
    begin_drain(jobs);
    while (jobs->threads_alive && io_now() < deadline)
        condition_wait(&jobs->thread_ended, &jobs->lock, deadline);
    bool ended = jobs->threads_alive == 0;
    jobs->closing = ended;
    pthread_cond_signal(&jobs->timer_changed);
    jobs_leave(jobs);
    if (!ended)
        return false;
    if (jobs->timer_started)
        pthread_join(jobs->timer, NULL);
    for (unsigned i = 0; i < jobs->n_devices; i++)
        for (unsigned k = 0; k < jobs->n_workers; k++)
            if (jobs->devices[i].workers[k].started)
                pthread_join(jobs->devices[i].workers[k].thread, NULL);
    jobs_lock(jobs);
    jobs->closed = true;
    for (unsigned i = 0; i < jobs->n_devices; i++)
        schedule_each(&jobs->devices[i], let_go, NULL);
    jobs->references--;
    jobs_leave(jobs);
    return true;
}

/* --- figures --- */

static void count(const struct device_queue *d, struct jobs_counts *ret, uint64_t now)
{
    const struct owner *owner;
    ret->waiting += d->storing + d->queued;
    ret->running += d->running;
    ret->done += d->done;
    TAILQ_FOREACH(owner, &d->turns, turns[d->index])
    {
        const struct entry *e = TAILQ_FIRST(&owner->lines[d->index]);
        double s = (double)(now - e->queued_ns) / (double)IO_NS_PER_S;
        if (s > ret->oldest_s)
            ret->oldest_s = s;
    }
}

void jobs_set_limits(struct jobs *jobs, const struct jobs_options *options)
{
    jobs_lock(jobs);
    jobs->options.queue = options->queue;
    jobs->options.queue_per_owner = options->queue_per_owner;
    jobs->options.max_grade_s = options->max_grade_s;
    jobs_leave(jobs);
}

void jobs_count(struct jobs *jobs, const char *device, struct jobs_counts *ret)
{
    jobs_lock(jobs);
    *ret = (struct jobs_counts){.limit = jobs->options.queue};
    uint64_t now = io_now();
    for (unsigned i = 0; i < jobs->n_devices; i++)
        if (!device || !strcmp(jobs->devices[i].name, device))
            count(&jobs->devices[i], ret, now);
    jobs_leave(jobs);
}

unsigned jobs_estimate_s(struct jobs *jobs)
{
    double least = MAX_ESTIMATE_S;
    jobs_lock(jobs);
    /* With every place taken, one is freed when the next grade ends. */
    for (unsigned i = 0; i < jobs->n_devices; i++) {
        const struct device_queue *d = &jobs->devices[i];
        double s = d->mean_s > 0 ? d->mean_s : FIRST_ESTIMATE_S;
        if (d->queued && s < least)
            least = s;
    }
    jobs_leave(jobs);
    return least >= MAX_ESTIMATE_S ? MAX_ESTIMATE_S : (unsigned)least + 1;
}

bool jobs_alive(struct jobs *jobs)
{
    bool alive = true;
    jobs_lock(jobs);
    uint64_t now = io_now();
    for (unsigned i = 0; i < jobs->n_devices; i++)
        for (unsigned k = 0; k < jobs->n_workers; k++) {
            const struct worker *w = &jobs->devices[i].workers[k];
            if (w->entry && now > w->heard_ns + jobs->max_silence_ns)
                alive = false;
        }
    jobs_leave(jobs);
    return alive;
}
