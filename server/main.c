/*
 * kgraded: grading over HTTP.
 *
 * Three kinds of thread: this one, which waits for signals and deadlines; the HTTP thread (http.h);
 * the grading threads (queue.h).  The library's spawner is started before any of them.
 *
 * The end, in this order: no new connections; waiting grades are answered "shutting_down"; running
 * ones are given
 * --drain seconds, unless a second signal comes; what then still runs is answered "shutting_down"
 * too and told to stop; answers are sent; the HTTP thread ends; the grading threads end; the engine
 * closes.
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

#include "../sandbox/base/io.h"
#include "http/http.h"
#include "listen.h"
#include "log.h"
#include "notify.h"
#include "options.h"
#include "jobs/queue.h"

enum { EXIT_CLEAN = 0, EXIT_USAGE = 2, EXIT_INFRASTRUCTURE = 3 };

#define DRAIN_POLL_NS (50 * IO_NS_PER_MS)
/* For sending answers that are due. */
#define FLUSH_NS (5 * IO_NS_PER_S)
/* For a cancelled grade to come back from what it is doing. */
#define CANCEL_NS (25 * IO_NS_PER_S)
/* Descriptors beside those of connections. */
#define OTHER_DESCRIPTORS 256

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

/* Returns when there is nothing running any more, or it is to be cancelled. */
static void drain(struct http *http, struct queue *queue, const sigset_t *awaited, unsigned seconds)
{
    uint64_t deadline = io_now() + seconds * IO_NS_PER_S;
    while (queue_counts(queue).running) {
        uint64_t now = io_now();
        if (now >= deadline) {
            log_line(LOG_LEVEL_WARNING, "shutdown: grades are cancelled after %u s", seconds);
            return;
        }
        int again = wait_for_signal(awaited, now + DRAIN_POLL_NS < deadline ? now + DRAIN_POLL_NS
                                                                            : deadline);
        if (again) {
            log_line(LOG_LEVEL_WARNING, "shutdown: grades are cancelled by signal=%s",
                     sigabbrev_np(again));
            return;
        }
        http_enforce_deadlines(http);
    }
}

/* Returns false when a grade did not end: then its engine must not be closed. */
static bool shut_down(struct http *http, struct queue *queue, const sigset_t *awaited,
                      const struct server_options *o)
{
    struct queue_counts counts = queue_counts(queue);
    log_line(LOG_LEVEL_INFO, "shutdown: running=%u waiting=%u", counts.running, counts.waiting);
    notify_send("STOPPING=1");
    http_quiesce(http);
    if (o->unix_path)
        unlink(o->unix_path);
    queue_drain(queue);
    drain(http, queue, awaited, o->drain);
    queue_cancel(queue);
    if (!http_flush(http, io_now() + FLUSH_NS))
        log_line(LOG_LEVEL_WARNING, "shutdown: some clients did not take their answers");
    return http_stop(http) && queue_stop(queue, io_now() + CANCEL_NS);
}

static int not_served(const struct server_options *o, const kgrade_error *e)
{
    if (o->unix_path)
        unlink(o->unix_path);
    report(e);
    return EXIT_INFRASTRUCTURE;
}

static int serve(int listen_fd, const char *url, kgrade *engine, const struct server_options *o,
                 const sigset_t *awaited, bool *ret_ended)
{
    struct queue *queue;
    struct http *http;
    kgrade_error e;
    if (queue_start(engine, SERVER_WORKERS, o->queue, &queue, &e)) {
        close(listen_fd);
        return not_served(o, &e);
    }
    if (http_start(listen_fd, engine, queue, o, &http, &e)) {
        queue_drain(queue);
        queue_stop(queue, IO_NO_DEADLINE);
        return not_served(o, &e);
    }
    log_line(LOG_LEVEL_INFO, "kgraded version=%s listens on %s", kgrade_version(), url);
    notify_send("READY=1");
    while (!wait_for_signal(awaited, http_enforce_deadlines(http)))
        ;
    *ret_ended = shut_down(http, queue, awaited, o);
    log_line(*ret_ended ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR, "shutdown: %s",
             *ret_ended ? "done" : "a grade did not end in time and is killed");
    return *ret_ended ? EXIT_CLEAN : EXIT_INFRASTRUCTURE;
}

int main(int argc, char **argv)
{
    struct server_options o;
    kgrade_error e;
    switch (options_parse(argc, argv, &o, &e)) {
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
    log_open(o.log_level);
    sigset_t awaited;
    block_signals(&awaited);
    json_object_seed(0);
    allow_descriptors(&o);

    char url[LISTEN_MAX_URL];
    int listen_fd = o.unix_path ? listen_unix(o.unix_path, url, &e) : listen_tcp(o.listen, url, &e);
    if (listen_fd < 0) {
        report(&e);
        return strcmp(e.code, "listen_failed") ? EXIT_USAGE : EXIT_INFRASTRUCTURE;
    }
    const kgrade_options options = {
        .tasks = o.tasks,
        .cache = o.cache,
        .allow_reduced = o.allow_reduced,
        .keep_spares = true,
    };
    kgrade *engine;
    if (kgrade_open(&options, &engine, &e)) {
        close(listen_fd);
        return not_served(&o, &e);
    }
    bool ended = true;
    int status = serve(listen_fd, url, engine, &o, &awaited, &ended);
    /* With a grade still in the engine there is no orderly way out; its jails die with this
     * process. */
    if (!ended)
        _exit(status);
    kgrade_close(engine);
    return status;
}
