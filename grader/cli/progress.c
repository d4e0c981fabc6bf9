/*
 * The line is drawn by a thread of its own, so that the elapsed time moves also while a long step
 * reports nothing.
 */
#define _GNU_SOURCE
#include "progress.h"

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

static void draw(const struct progress *p)
{
    double seconds = (double)(io_now() - p->started) / 1e9;
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
