#define _GNU_SOURCE
#include "run.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "store_internal.h"

struct crew {
    pthread_mutex_t lock; /* of all below */
    struct regrade_store *store;
    const struct regrade_run *run;
    struct regrade_summary *summary;
    uint64_t total, done; /* of the round */
    unsigned faults;      /* in a row */
    bool ends;
    bool failed;
    kgrade_error error;
};

struct worker {
    struct crew *crew;
    unsigned number;
    pthread_t thread;
};

/* The first error is the one that is told. */
static void end_with(struct crew *crew, const kgrade_error *err)
{
    crew->ends = true;
    if (!crew->failed && err) {
        crew->failed = true;
        crew->error = *err;
    }
}

/* Files are named by their hash, so one that is there has the same bytes. */
static int keep_recording(const struct regrade_store *store, const struct bytes *recording,
                          char ret_hash[HASH_HEX], kgrade_error *err)
{
    hash_hex(recording->data, recording->size, ret_hash);
    cleanup_free char *path = regrade_store_recording_path(store, ret_hash);
    if (!path)
        return fail(err, "out_of_memory", NULL, "There is no memory for a path.");
    return access(path, F_OK) ? io_write_file(path, recording->data, recording->size, err) : 0;
}

/* refused: the code of why there is no result. */
static void count(struct crew *crew, const struct regrade_job *job, const char *result,
                  const char *refused)
{
    json_auto_t *json = result ? json_loads(result, 0, NULL) : NULL;
    struct regrade_told told = {
        .job = job,
        .verdict = json_string_value(json_object_get(json, "verdict")),
        .code = refused
                    ? refused
                    : json_string_value(json_object_get(json_object_get(json, "reason"), "code")),
        .score = json_number_value(json_object_get(json, "score")),
        .done = ++crew->done,
        .total = crew->total,
    };
    struct regrade_summary *s = crew->summary;
    s->done++;
    s->refused += !told.verdict;
    s->held_ms +=
        json_number_value(json_object_get(json_object_get(json, "steps"), "device_held_ms"));
    bool fault = false;
    for (unsigned v = 0; told.verdict && v <= KGRADE_INFRASTRUCTURE_ERROR; v++)
        if (!strcmp(told.verdict, kgrade_verdict_name((kgrade_verdict)v))) {
            s->verdicts[v]++;
            fault = v == KGRADE_INFRASTRUCTURE_ERROR;
        }
    crew->faults = fault ? crew->faults + 1 : 0;
    if (crew->run->tell)
        crew->run->tell(crew->run->data, &told);
    kgrade_error err;
    if (crew->faults < REGRADE_MAX_FAULTS)
        return;
    fail_set(&err, "too_many_faults",
             "When it works again, go on with --retry infrastructure; kgrade doctor may tell what "
             "is wrong.",
             "The infrastructure failed %u times in a row, the last time with %s.", crew->faults,
             told.code ? told.code : "no reason");
    end_with(crew, &err);
}

static void keep(struct crew *crew, const struct regrade_job *job,
                 const struct regrade_outcome *outcome)
{
    kgrade_error err;
    char hash[HASH_HEX];
    bool recorded = outcome->recording.size > 0;
    if ((recorded && keep_recording(crew->store, &outcome->recording, hash, &err)) ||
        regrade_store_finish(crew->store, job, outcome->result, recorded ? hash : NULL, &err))
        end_with(crew, &err);
    else
        count(crew, job, outcome->result, NULL);
}

/* Grades one candidate; false when there is nothing more to do. */
static bool work_once(struct worker *w)
{
    struct crew *crew = w->crew;
    struct regrade_job job = {0};
    struct regrade_outcome outcome = {0};
    kgrade_error err = {0};
    pthread_mutex_lock(&crew->lock);
    if (crew->run->stop && crew->run->stop())
        crew->ends = true;
    int rc = crew->ends ? 1 : regrade_store_next(crew->store, &job, &err);
    if (rc < 0)
        end_with(crew, &err);
    pthread_mutex_unlock(&crew->lock);
    if (rc)
        return false;

    enum regrade_grading grading =
        crew->run->grade(crew->run->data, w->number, &job, &outcome, &err);

    pthread_mutex_lock(&crew->lock);
    kgrade_error why = err;
    if (grading == REGRADE_GRADING_DONE)
        keep(crew, &job, &outcome);
    else if (grading == REGRADE_GRADING_ENDED ||
             regrade_store_refuse(crew->store, &job, &why, &err))
        end_with(crew, &err);
    else
        count(crew, &job, NULL, why.code);
    pthread_mutex_unlock(&crew->lock);
    regrade_job_free(&job);
    free(outcome.result);
    bytes_free(&outcome.recording);
    return true;
}

static void *work(void *data)
{
    while (work_once(data))
        ;
    return NULL;
}

/* Signals are for the thread that started the others. */
static unsigned start(struct crew *crew, struct worker *workers, unsigned n)
{
    sigset_t all, before;
    unsigned started = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; started < n; started++) {
        workers[started] = (struct worker){crew, started, 0};
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]))
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

int regrade_run(struct regrade_store *store, const struct regrade_run *run,
                struct regrade_summary *ret, kgrade_error *err)
{
    struct regrade_counts counts;
    *ret = (struct regrade_summary){0};
    if (regrade_store_counts(store, &counts, err))
        return -1;
    struct crew crew = {.store = store,
                        .run = run,
                        .summary = ret,
                        .total = counts.candidates,
                        .done = counts.candidates - counts.to_do};
    struct worker workers[REGRADE_MAX_THREADS];
    unsigned n = run->threads < 1                     ? 1
                 : run->threads > REGRADE_MAX_THREADS ? REGRADE_MAX_THREADS
                                                      : run->threads;
    uint64_t began = io_now();
    pthread_mutex_init(&crew.lock, NULL);
    unsigned started = start(&crew, workers, n);
    if (!started) /* no thread to be had: this one will do */
        work(&(struct worker){.crew = &crew});
    for (unsigned i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_mutex_destroy(&crew.lock);
    ret->wall_ns = io_now() - began;
    if (regrade_store_counts(store, &counts, err))
        return -1;
    ret->complete = counts.to_do == 0;
    if (!crew.failed)
        return 0;
    if (err)
        *err = crew.error;
    return -1;
}
