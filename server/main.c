/*
 * kgraded: grading over HTTP.
 *
 * The start, in this order: the engine, whose spawner must be forked before there are threads; the
 * store; the jobs, which go on where the last process ended; the listener's clients.
 *
 * Threads: this one, for signals and the service manager; the HTTP thread and the keeper of its
 * connections (http.h); those that grade (jobs.h); the store's writer; one that checks devices.
 *
 * The end: no new connections; who waits for a grade that has not begun is told where to ask for it
 * later, and it stays queued in the store; running grades are given --drain seconds, unless a second
 * signal comes; then they are stopped and stay queued too; answers are sent; everything closes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../sandbox/base/fail.h"
#include "../sandbox/base/io.h"
#include "access/access.h"
#include "access/command.h"
#include "devices.h"
#include "http/http.h"
#include "jobs/jobs.h"
#include "listen.h"
#include "log.h"
#include "metrics.h"
#include "notify.h"
#include "options.h"
#include "places.h"
#include "store/store.h"

enum { EXIT_CLEAN = 0, EXIT_USAGE = 2, EXIT_INFRASTRUCTURE = 3 };

/* How often the drain looks, and how often the service manager hears how things are. */
#define DRAIN_LOOK_NS (50 * IO_NS_PER_MS)
#define STATUS_NS (10 * IO_NS_PER_S)
/* For sending answers that are due. */
#define FLUSH_NS (5 * IO_NS_PER_S)
/* For a grade that was told to stop to come back from what it is doing. */
#define STOP_NS (25 * IO_NS_PER_S)
/* For the store to write what it has been told. */
#define STORE_CLOSE_NS (10 * IO_NS_PER_S)
/* Descriptors beside those of connections. */
#define OTHER_DESCRIPTORS 512

/* All that main opens; what is NULL is not open. */
struct service {
    struct server_options options;
    sigset_t awaited;
    struct listener listener;
    struct access *access;
    struct metrics *metrics;
    kgrade *engine;
    struct store *store;
    struct jobs *jobs;
    struct devices *devices;
    struct http *http;
};

static void report(const kgrade_error *e)
{
    fprintf(stderr, "kgraded: %s\n", e->message);
    if (e->hint[0])
        fprintf(stderr, "%s\n", e->hint);
}

static void block_signals(sigset_t *ret_awaited)
{
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(ret_awaited);
    sigaddset(ret_awaited, SIGTERM);
    sigaddset(ret_awaited, SIGINT);
    sigaddset(ret_awaited, SIGHUP);
    sigprocmask(SIG_BLOCK, ret_awaited, NULL);
}

/* Waits for one of the signals; 0 when deadline comes first. */
static int wait_for_signal(const sigset_t *awaited, uint64_t deadline)
{
    for (;;) {
        uint64_t now = io_now();
        uint64_t left = deadline > now ? deadline - now : 0;
        struct timespec t = {(time_t)(left / IO_NS_PER_S), (long)(left % IO_NS_PER_S)};
        int signal_number = sigtimedwait(awaited, NULL, &t);
        if (signal_number > 0)
            return signal_number;
        if (errno == EAGAIN)
            return 0;
    }
}

static void allow_descriptors(const struct server_options *o)
{
    struct rlimit limit;
    rlim_t need = (rlim_t)o->max_connections + OTHER_DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
        return;
    limit.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < need)
        log_line(LOG_LEVEL_WARNING,
                 "the limit of %llu open files is too small for %u connections: raise it, or lower "
                 "--max-connections",
                 (unsigned long long)limit.rlim_cur, o->max_connections);
}

static void count_grade(void *data, const char *result)
{
    metrics_grade(data, result);
}

static struct jobs_options jobs_options_of(const struct service *s)
{
    const struct server_options *o = &s->options;
    return (struct jobs_options){
        .queue = o->queue,
        .queue_per_owner = o->queue_per_owner,
        .builds_ahead = o->builds_ahead,
        .max_grade_s = o->max_grade,
        .graded = count_grade,
        .graded_data = s->metrics,
    };
}

/* What can change while kgraded runs, from the settings to those who use it. */
static void apply(const struct service *s)
{
    const struct server_options *o = &s->options;
    log_set_level(o->log_level);
    access_set_limits(s->access, &(struct access_limits){o->rate, o->burst, o->queue_per_owner});
    if (s->jobs) {
        const struct jobs_options jobs_options = jobs_options_of(s);
        jobs_set_limits(s->jobs, &jobs_options);
    }
}

/* The start. */

static int start(struct service *s, kgrade_error *err)
{
    const struct server_options *o = &s->options;
    const kgrade_options engine_options = {
        .tasks = o->tasks,
        .python = o->python,
        .cache = o->cache,
        .allow_reduced = o->allow_reduced,
        .keep_spares = true,
        .python_spares = o->python_spares,
        .judge_budget_s = o->max_judging,
    };
    if (kgrade_open(&engine_options, &s->engine, err) || places_make_parent(o->store, false, err) ||
        store_open(o->store, &s->store, err))
        return -1;
    s->metrics = metrics_new();
    if (!s->metrics)
        return fail(err, "out_of_memory", NULL, "There is no memory for the counters.");

    const struct jobs_options jobs_options = jobs_options_of(s);
    if (jobs_open(s->engine, s->store, &jobs_options, &s->jobs, err) ||
        devices_open(s->engine, &s->devices, err))
        return -1;
    const struct http_parts parts = {
        .engine = s->engine,
        .store = s->store,
        .jobs = s->jobs,
        .access = s->access,
        .metrics = s->metrics,
        .devices = s->devices,
        .options = o,
    };
    int fd = s->listener.fd;
    s->listener.fd = -1;
    return http_start(fd, &parts, &s->http, err);
}

/* Running. */

/* What is wrong stays as it was. */
static void reload(struct service *s)
{
    char restart[256] = "";
    kgrade_error e;
    notify_reloading();
    if (options_reload(&s->options, restart, sizeof restart, &e))
        log_line(LOG_LEVEL_ERROR, "reload: the settings stay: %s", e.message);
    else
        apply(s);
    if (restart[0])
        log_line(LOG_LEVEL_WARNING, "reload: only a restart changes: %s", restart);
    if (kgrade_reload_tasks(s->engine, &e))
        log_line(LOG_LEVEL_ERROR, "reload: the tasks stay: %s", e.message);
    if (access_reload(s->access, &e))
        log_line(LOG_LEVEL_ERROR, "reload: the tokens stay: %s", e.message);
    else if (s->options.tokens_from_manager)
        log_line(LOG_LEVEL_WARNING,
                 "reload: the service manager renews the credential \"tokens\" only at a restart");
    log_line(LOG_LEVEL_INFO, "reload: done");
    notify_ready();
}

static void tell_status(const struct service *s)
{
    struct jobs_counts counts;
    jobs_count(s->jobs, NULL, &counts);
    notify_status("%u running, %u waiting, %llu graded", counts.running, counts.waiting,
                  (unsigned long long)counts.done);
}

/* Until a signal asks for the end. */
static void run(struct service *s)
{
    for (;;) {
        tell_status(s);
        uint64_t next = io_now() + STATUS_NS;
        uint64_t feed = notify_watchdog(jobs_alive(s->jobs));
        int signal_number = wait_for_signal(&s->awaited, feed < next ? feed : next);
        if (signal_number == SIGHUP)
            reload(s);
        else if (signal_number)
            return;
    }
}

/* The end. */

/* Returns when nothing is running any more, or it is to be stopped. */
static void drain(struct service *s)
{
    struct jobs_counts counts;
    uint64_t deadline = io_now() + s->options.drain * IO_NS_PER_S;
    for (;;) {
        jobs_count(s->jobs, NULL, &counts);
        if (!counts.running)
            return;
        uint64_t now = io_now();
        if (now >= deadline) {
            log_line(LOG_LEVEL_WARNING, "shutdown: grades are stopped after %u s",
                     s->options.drain);
            return;
        }
        notify_watchdog(jobs_alive(s->jobs));
        uint64_t look = now + DRAIN_LOOK_NS;
        int again = wait_for_signal(&s->awaited, look < deadline ? look : deadline);
        if (again && again != SIGHUP) {
            log_line(LOG_LEVEL_WARNING, "shutdown: grades are stopped by signal=%s",
                     sigabbrev_np(again));
            return;
        }
    }
}

static void stop_jobs(struct service *s)
{
    if (!s->jobs)
        return;
    jobs_drain(s->jobs);
    jobs_stop_running(s->jobs);
}

/* False when something does not end, so that there is no orderly way out. */
static bool shut_down(struct service *s)
{
    struct jobs_counts counts;
    jobs_count(s->jobs, NULL, &counts);
    log_line(LOG_LEVEL_INFO, "shutdown: running=%u waiting=%u", counts.running, counts.waiting);
    notify_stopping();
    jobs_drain(s->jobs);
    http_quiesce(s->http, s->listener.adopted);
    listener_close(&s->listener);
    drain(s);
    stop_jobs(s);
    if (!http_flush(s->http, io_now() + FLUSH_NS))
        log_line(LOG_LEVEL_WARNING, "shutdown: some clients did not take their answers");
    if (!http_stop(s->http))
        return false;
    s->http = NULL;
    return true;
}

/* What is open, in the order in which one needs the other.  False when a grade does not end: then
 * neither the engine nor the store may be closed. */
static bool close_all(struct service *s)
{
    uint64_t deadline = io_now() + STOP_NS;
    if ((s->jobs && !jobs_close(s->jobs, deadline)) || !devices_close(s->devices, deadline))
        return false;
    unsigned lost = store_close(s->store, STORE_CLOSE_NS);
    if (lost)
        log_line(LOG_LEVEL_ERROR,
                 "shutdown: %u grades ended but could not be stored; they are graded again", lost);
    if (s->engine)
        kgrade_close(s->engine);
    metrics_free(s->metrics);
    if (s->access)
        access_close(s->access);
    listener_close(&s->listener);
    options_free(&s->options);
    return true;
}

static int end_of(const kgrade_error *e)
{
    static const char *const ours[] = {"listen_failed",     "activation_failed", "file_unwritable",
                                       "tokens_unwritable", "tokens_unreadable", "out_of_memory"};
    report(e);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (!strcmp(e->code, ours[i]))
            return EXIT_INFRASTRUCTURE;
    return EXIT_USAGE;
}

/* Whoever wonders where things are finds it in the log. */
static void tell_places(const struct server_options *o)
{
    char config[256], store[256], cache[256], tokens[256];
    log_line(LOG_LEVEL_INFO, "settings: config=%s store=%s cache=%s tokens=%s",
             log_field(config, sizeof config, o->config), log_field(store, sizeof store, o->store),
             log_field(cache, sizeof cache, o->cache), log_field(tokens, sizeof tokens, o->tokens));
}

/* From here on nothing that kgraded starts sees what the service manager has passed. */
static int take_over(struct service *s, kgrade_error *err)
{
    notify_open();
    if (access_open(s->options.tokens, &s->access, err))
        return -1;
    apply(s);
    if (listener_open(&s->options, access_has_tokens(s->access), &s->listener, err))
        return -1;
    places_forget_manager();
    tell_places(&s->options);
    return 0;
}

static int serve(struct service *s)
{
    kgrade_error e;
    if (take_over(s, &e)) {
        close_all(s);
        return end_of(&e);
    }
    bool began = !start(s, &e);
    bool ended = true;
    if (began) {
        log_line(LOG_LEVEL_INFO, "kgraded version=%s listens on %s", kgrade_version(),
                 s->listener.url);
        notify_ready();
        run(s);
        ended = shut_down(s);
    } else {
        report(&e);
        /* Of what the store holds something may be running already. */
        stop_jobs(s);
    }
    ended = ended && close_all(s);
    if (began)
        log_line(ended ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR, "shutdown: %s",
                 ended ? "done"
                       : "a grade or a check of a device did not end in time and is killed");
    /* The jails of a grade that is still in the engine die with this process. */
    if (!ended)
        _exit(EXIT_INFRASTRUCTURE);
    return began ? EXIT_CLEAN : EXIT_INFRASTRUCTURE;
}

int main(int argc, char **argv)
{
    struct service s = {.listener.fd = -1};
    kgrade_error e;
    if (argc > 1 && !strcmp(argv[1], "token"))
        return access_command(argc - 1, argv + 1, &e) ? end_of(&e) : EXIT_CLEAN;
    switch (options_parse(argc, argv, &s.options, &e)) {
    case OPTIONS_HELP:
        options_help();
        return EXIT_CLEAN;
    case OPTIONS_VERSION:
        printf("kgraded %s\n", kgrade_version());
        return EXIT_CLEAN;
    case OPTIONS_BAD:
        report(&e);
        return EXIT_USAGE;
    case OPTIONS_RUN:
        break;
    }
    log_open(s.options.log_level);
    block_signals(&s.awaited);
    json_object_seed(0);
    allow_descriptors(&s.options);
    return serve(&s);
}
