/*
 * The line is drawn by a thread of its own, so that the elapsed time moves also while a long step
 * reports nothing.
 */
#define _GNU_SOURCE
#include "progress.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/condition.h"
#include "../../sandbox/base/io.h"
#include "text.h"

#define REDRAW_NS (100 * IO_NS_PER_MS)

struct progress {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool draws, ends;
    uint64_t started;
    char step[32];
    unsigned done, total;
    struct progress_batch batch; /* name is NULL */
    char name[64];
};

static volatile sig_atomic_t asked;

static void on_signal(int number)
{
    asked = number;
}

void progress_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

int progress_signal(void)
{
    return asked;
}

void progress_die_of_signal(void)
{
    signal(asked, SIG_DFL);
    raise(asked);
}

/* "47 s", "12 min", "3.1 h", "2.4 days" */
static void print_duration(char *ret, size_t size, double seconds)
{
    if (seconds < 99.5)
        snprintf(ret, size, "%.0f s", seconds);
    else if (seconds < 99.5 * 60)
        snprintf(ret, size, "%.0f min", seconds / 60);
    else if (seconds < 47.5 * 3600)
        snprintf(ret, size, "%.1f h", seconds / 3600);
    else
        snprintf(ret, size, "%.1f days", seconds / 86400);
}

#define BAR 20

void progress_batch_line(const struct progress_batch *b, unsigned columns, char ret[PROGRESS_LINE])
{
    char bar[BAR + 1], rest[64] = "";
    uint64_t done = b->done < b->total ? b->done : b->total;
    size_t filled = b->total ? (size_t)(done * BAR / b->total) : BAR;
    memset(bar, '.', BAR);
    memset(bar, '#', filled);
    bar[BAR] = 0;
    if (done > b->before && b->seconds > 0) {
        char left[32];
        double rate = (double)(done - b->before) / b->seconds;
        print_duration(left, sizeof left, (double)(b->total - done) / rate);
        snprintf(rest, sizeof rest, "  %.*f/min  %s left", rate * 60 < 9.95 ? 1 : 0, rate * 60,
                 left);
    }
    snprintf(ret, PROGRESS_LINE, "[%s] %" PRIu64 " of %" PRIu64 "%s%s%.64s", bar, done, b->total,
             rest, b->name ? "  " : "", b->name ? b->name : "");
    for (char *c = ret; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f) /* one byte, one column */
            *c = '?';
    if (columns && columns < PROGRESS_LINE)
        ret[columns] = 0;
}

static void draw_batch(const struct progress *p, double seconds)
{
    static const char stopping[] = "  stopping";
    char line[PROGRESS_LINE];
    struct progress_batch batch = p->batch;
    batch.seconds = seconds;
    batch.name = p->name[0] ? p->name : NULL;
    unsigned columns = text_terminal_columns(stderr);
    progress_batch_line(&batch, columns > sizeof stopping ? columns - (unsigned)sizeof stopping : 0,
                        line);
    fprintf(stderr, "\r\033[K%s%s", line, asked ? stopping : "");
    fflush(stderr);
}

static void draw(const struct progress *p)
{
    double seconds = (double)(io_now() - p->started) / 1e9;
    if (p->batch.total) {
        draw_batch(p, seconds);
        return;
    }
    fprintf(stderr, "\r\033[K%s%s%s", text_colour(stderr, TEXT_DIM), p->step,
            text_colour(stderr, TEXT_RESET));
    if (p->total)
        fprintf(stderr, "  case %u of %u", p->done < p->total ? p->done + 1 : p->total, p->total);
    fprintf(stderr, "  %.1f s%s", seconds, asked ? "  stopping" : "");
    fflush(stderr);
}

static void *draw_until_end(void *data)
{
    struct progress *p = data;
    pthread_mutex_lock(&p->lock);
    while (!p->ends) {
        draw(p);
        condition_wait(&p->changed, &p->lock, io_now() + REDRAW_NS);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* The thread takes no signals: they are for the one that can act on them. */
static int start_thread(struct progress *p)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&p->thread, NULL, draw_until_end, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

struct progress *progress_start(void)
{
    struct progress *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->started = io_now();
    snprintf(p->step, sizeof p->step, "starting");
    pthread_mutex_init(&p->lock, NULL);
    condition_init(&p->changed);
    p->draws = isatty(STDERR_FILENO) && start_thread(p) == 0;
    return p;
}

bool progress_report(void *data, const char *step, unsigned done, unsigned total)
{
    struct progress *p = data;
    if (p) {
        pthread_mutex_lock(&p->lock);
        snprintf(p->step, sizeof p->step, "%s", step);
        p->done = done;
        p->total = total;
        pthread_cond_signal(&p->changed);
        pthread_mutex_unlock(&p->lock);
    }
    return !asked;
}

void progress_tell_batch(struct progress *p, const struct progress_batch *batch)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->batch = *batch;
    p->batch.name = NULL;
    if (batch->name)
        snprintf(p->name, sizeof p->name, "%s", batch->name);
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

void progress_stop(struct progress *p)
{
    if (!p)
        return;
    if (p->draws) {
        pthread_mutex_lock(&p->lock);
        p->ends = true;
        pthread_cond_signal(&p->changed);
        pthread_mutex_unlock(&p->lock);
        pthread_join(p->thread, NULL);
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
