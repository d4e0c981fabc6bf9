/*
 * What the files of server/jobs share.
 *
 * One lock guards everything here.  What must happen without it is put on a list by whoever makes the change: telling the
 * store that a job is cancelled, and calling watchers.  Threads of this folder and the store's writer do what is on the
 * list when they let go of the lock (jobs_unlock).  Callers from outside, who may hold locks of their own that a watcher
 * takes, leave it to the timer's thread (jobs_leave).
 *
 * An entry is a job in memory.  It lives as long as somebody holds a reference: handles (struct job, one per caller), its
 * place in a queue, the thread that grades it, a callback that the store owes.  Jobs that are queued or running are always
 * in memory; others may be read from the store for as long as somebody looks at them.
 */
#ifndef KGRADED_JOBS_INTERNAL_H
#define KGRADED_JOBS_INTERNAL_H

#include <pthread.h>
#include <sys/queue.h>

#include "../../sandbox/base/io.h"
#include "jobs.h"

#define JOBS_MAX_DEVICES 16 /* names of devices that jobs may have, those in the store included */
#define JOBS_BUCKETS 1024u
#define JOB_MAX_EVENTS 64u
#define JOB_STEP_PARTS 12u /* events that one step may make */

/* A grade asks ten times a second whether to go on, except while it tidies up or checks the device's health. */
#define JOBS_MAX_SILENCE_NS (180 * IO_NS_PER_S)
/* How long a device's threads wait when a source cannot be read from the store. */
#define JOBS_STORE_RETRY_NS IO_NS_PER_S

struct graded {
    kgrade_verdict verdict;
    double score;
    char *json; /* owned */
};

/* The part of libkgrade that jobs need; a test has its own. */
struct jobs_engine {
    kgrade *kgrade;
    /* As kgrade_grade. */
    int (*grade)(kgrade *engine, const kgrade_request *request, kgrade_progress progress,
                 void *data, struct graded *ret, kgrade_error *err);
    /* As kgrade_task_json. */
    int (*task_json)(kgrade *engine, const char *name, char **ret_json, kgrade_error *err);
};

int jobs_open_with(const struct jobs_engine *engine, struct store *store,
                   const struct jobs_options *options, struct jobs **ret, kgrade_error *err);

struct job_watch {
    struct job *job;
    void (*changed)(void *data); /* NULL: nobody watches */
    void *data;
    bool pending; /* on the list of calls */
    bool calling, again;
    pthread_t caller;
    TAILQ_ENTRY(job_watch) next;
};

/* A caller's reference. */
struct job {
    struct entry *entry;
    bool reused;
    bool released; /* from within its watcher's call, after which it is freed */
    struct job_watch watch;
    LIST_ENTRY(job) next;
};

struct entry {
    struct jobs *jobs;
    unsigned references;
    char id[STORE_ID_SIZE], request_hash[STORE_HASH_SIZE];
    char task[STORE_NAME_SIZE], device_name[STORE_NAME_SIZE], language[STORE_NAME_SIZE];
    char owner_name[STORE_NAME_SIZE];
    char *key;

    enum job_state state;
    bool told;
    bool queued;          /* in its owner's line */
    bool running;         /* counts among its device's running ones */
    bool over;            /* how it ends is decided and only not yet on disk */
    const char *end_code; /* why it is to be cancelled; NULL: it is not */
    unsigned ahead;
    struct device_queue *device;
    struct owner *owner; /* NULL unless it is being stored or queued: it counts as waiting */
    uint64_t queued_ns, deadline_ns; /* CLOCK_MONOTONIC; deadline 0: none */
    int64_t deadline_ms;             /* the same in Unix time, for the store */
    int64_t created_ms, started_ms, ended_ms;

    struct job_event *events;
    unsigned n_events, events_room;
    LIST_HEAD(, job) handles;

    kgrade_verdict verdict;
    double score;
    char *result;
    kgrade_error *error;

    TAILQ_ENTRY(entry) line;       /* in its owner's line */
    STAILQ_ENTRY(entry) to_cancel; /* in jobs->to_cancel */
    struct entry *next_by_id, *next_by_key;
    bool listed; /* in the tables */
};

TAILQ_HEAD(line, entry);

/* Somebody whose jobs wait; gone when none does. */
struct owner {
    char name[STORE_NAME_SIZE];
    unsigned waiting; /* being stored or queued, on all devices */
    struct line lines[JOBS_MAX_DEVICES];
    unsigned lengths[JOBS_MAX_DEVICES]; /* of the lines */
    struct entry *cursor;
    TAILQ_ENTRY(owner)
    turns[JOBS_MAX_DEVICES]; /* in the devices' turns while the line is not empty */
    LIST_ENTRY(owner) next;
};

struct worker {
    struct device_queue *device;
    pthread_t thread;
    bool started;
    struct entry *entry; /* what it works on */
    uint64_t heard_ns;   /* of the last sign of life */
    uint64_t began_ns;   /* of the grade; 0: it has not begun */
    uint64_t spent_ns;   /* of the grade's time until clock_ns */
    uint64_t clock_ns;   /* 0: it waits for the device, which costs it no time */
};

struct device_queue {
    struct jobs *jobs;
    unsigned index;
    char name[STORE_NAME_SIZE];
    TAILQ_HEAD(, owner) turns; /* owners with queued jobs, in the order in which it is their turn */
    bool misplaced;            /* entries' `ahead` is out of date */
    unsigned storing, queued, running; /* running: until the end is on disk */
    unsigned busy;                     /* threads */
    uint64_t done;
    double mean_s; /* between the ends of recent grades, or from begin to end; 0: there were none */
    uint64_t last_end_ns;
    uint64_t paused_until; /* the store did not give a source */
    pthread_cond_t work;
    struct worker *workers;
};

struct jobs {
    struct jobs_engine engine;
    struct store *store;
    struct jobs_options options;
    unsigned n_workers; /* of each device */
    uint64_t max_silence_ns;

    pthread_mutex_t lock;
    unsigned references; /* of whoever opened it, of each entry, and of calls that are under way */
    bool draining, stopping, closing, closed;
    struct device_queue devices[JOBS_MAX_DEVICES];
    unsigned n_devices;
    LIST_HEAD(, owner) owners;
    struct entry *by_id[JOBS_BUCKETS], *by_key[JOBS_BUCKETS];

    pthread_t timer; /* lives until jobs_close */
    bool timer_started;
    pthread_cond_t timer_changed;
    uint64_t next_deadline; /* of queued jobs; IO_NO_DEADLINE: there is none */
    unsigned threads_alive;
    pthread_cond_t thread_ended;

    STAILQ_HEAD(, entry) to_cancel;
    TAILQ_HEAD(, job_watch) to_call;
    pthread_cond_t called;
};

/* --- jobs.c --- */

void jobs_lock(struct jobs *jobs);
/* Does what has been listed and lets go of the lock.  Within a watcher's call the list is left to whoever called. */
void jobs_unlock(struct jobs *jobs);
/* Lets go of the lock. */
void jobs_leave(struct jobs *jobs);
bool jobs_have_listed(const struct jobs *jobs);

/* All that follows is called with the lock held, unless it says otherwise. */

/* The device's queue, made and its threads started when it is new. */
struct device_queue *jobs_device(struct jobs *jobs, const char *name, kgrade_error *err);

/* At the end of its owner's line, for which a reference is taken.  It is counted as waiting already. */
void jobs_enqueue(struct entry *entry);

/* --- job.c --- */

/* Not listed, with one reference. */
struct entry *entry_new(struct jobs *jobs, kgrade_error *err);
/* What a row says of it at any time: the names, the id, when it was made. */
void entry_copy_row(struct entry *entry, const struct store_row *row);
void entry_ref(struct entry *entry);
void entry_unref(struct entry *entry);
void entry_list(struct entry *entry);
void entry_unlist(struct entry *entry);
struct entry *entry_find(struct jobs *jobs, const char *id);
struct entry *entry_find_key(struct jobs *jobs, const char *owner, const char *key);
/* A handle on it, for which a reference is taken.  NULL with `out_of_memory`. */
struct job *entry_handle(struct entry *entry, bool reused, kgrade_error *err);

void entry_event(struct entry *entry, const char *name, unsigned done, unsigned total);
/* An event unless it says little more than the one before. */
void entry_step(struct entry *entry, const char *name, unsigned done, unsigned total);
/* A new state, of which watchers are told. */
void entry_state(struct entry *entry, enum job_state state);
void entry_error(struct entry *entry, const kgrade_error *err);
/* What a job that was cancelled for this reason says. */
void entry_cancelled_error(struct entry *entry, const char *code);

/* --- schedule.c --- */

/* Counts as waiting from now on, before it is queued. */
int schedule_count(struct entry *entry, kgrade_error *err);
void schedule_uncount(struct entry *entry);
/* Whether one more job may wait: `queue_full`, `quota_exceeded`. */
int schedule_admit(struct jobs *jobs, const struct device_queue *device, const char *owner,
                   unsigned owner_queue, kgrade_error *err);
/* At the end of its owner's line, or in front of everybody when it had been taken already.  It must be counted. */
void schedule_put(struct entry *entry, bool first);
/* Whose turn it is, taken out of the queue, with one more thread busy; NULL: nobody waits. */
struct entry *schedule_take(struct device_queue *device);
void schedule_remove(struct entry *entry);
/* Brings the places of all queued jobs of a device up to date; schedule_number tells them, too. */
void schedule_place(struct device_queue *device);
void schedule_number(struct device_queue *device);
/* Calls each for every queued job of a device; each may remove the one that it is given. */
void schedule_each(struct device_queue *device, void (*each)(struct entry *entry, void *data),
                   void *data);

/* --- work.c --- */

/* An entry that is not in a queue any more comes to its end as cancelled.  Takes over a reference to it. */
void work_cancel(struct entry *entry, const char *code);
/* For store_cancel. */
void work_cancelled(void *entry, const char *existing_id, const kgrade_error *err);
void *work_thread(void *worker);
void *work_timer(void *jobs);
/* Of libkgrade. */
int work_grade(kgrade *engine, const kgrade_request *request, kgrade_progress progress, void *data,
               struct graded *ret, kgrade_error *err);

/* --- outcome.c; needs no lock --- */

/* What of a result goes into the store beside it. */
struct outcome {
    char code[STORE_NAME_SIZE], task_hash[STORE_HASH_SIZE];
    double score_low, score_high; /* NaN: unknown */
    bool retryable;
};
void outcome_read(const char *result, struct outcome *ret);

#endif
