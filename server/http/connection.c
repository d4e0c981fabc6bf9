#define _GNU_SOURCE
#include "connection.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "../log.h"
#include "problem.h"

/* How long a client that was too slow may go on being so before it is cut. */
#define LINGER_NS IO_NS_PER_S

enum phase { READING, WAITING, ANSWERING, REFUSED };

struct connection {
    struct connections *all;
    struct connection *previous, *next;
    int fd;
    enum phase phase;
    uint64_t deadline;
    bool begun;  /* a request line has arrived */
    bool served; /* a request has been answered */
    unsigned refusal;
    char refusal_code[48];
};

struct connections {
    pthread_mutex_t lock;
    pthread_cond_t settled; /* busy fell to 0, or the last one was closed */
    uint64_t timeout_ns;
    struct connection *first;
    unsigned busy; /* WAITING or ANSWERING */
};

static bool is_busy(enum phase phase)
{
    return phase == WAITING || phase == ANSWERING;
}

static void set_phase(struct connection *c, enum phase phase)
{
    struct connections *all = c->all;
    all->busy -= is_busy(c->phase);
    all->busy += is_busy(phase);
    if (!all->busy)
        pthread_cond_broadcast(&all->settled);
    c->phase = phase;
    c->deadline = phase == WAITING ? IO_NO_DEADLINE : io_now() + all->timeout_ns;
}

struct connections *connections_new(uint64_t timeout_ns)
{
    struct connections *all = calloc(1, sizeof *all);
    if (!all)
        return NULL;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&all->settled, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&all->lock, NULL);
    all->timeout_ns = timeout_ns;
    return all;
}

void connections_free(struct connections *all)
{
    pthread_cond_destroy(&all->settled);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

struct connection *connection_open(struct connections *all, int fd)
{
    struct connection *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->all = all;
    c->fd = fd;
    pthread_mutex_lock(&all->lock);
    set_phase(c, READING);
    c->next = all->first;
    if (c->next)
        c->next->previous = c;
    all->first = c;
    pthread_mutex_unlock(&all->lock);
    return c;
}

void connection_close(struct connection *c)
{
    if (!c)
        return;
    struct connections *all = c->all;
    pthread_mutex_lock(&all->lock);
    set_phase(c, READING);
    if (c->previous)
        c->previous->next = c->next;
    else
        all->first = c->next;
    if (c->next)
        c->next->previous = c->previous;
    if (!all->first)
        pthread_cond_broadcast(&all->settled);
    pthread_mutex_unlock(&all->lock);
    free(c);
}

void connection_begin(struct connection *c)
{
    pthread_mutex_lock(&c->all->lock);
    c->begun = true;
    pthread_mutex_unlock(&c->all->lock);
}

static bool advance(struct connection *c, enum phase phase)
{
    pthread_mutex_lock(&c->all->lock);
    bool refused = c->phase == REFUSED;
    if (!refused)
        set_phase(c, phase);
    pthread_mutex_unlock(&c->all->lock);
    return !refused;
}

bool connection_wait(struct connection *c)
{
    return advance(c, WAITING);
}

bool connection_answer(struct connection *c)
{
    return advance(c, ANSWERING);
}

void connection_next(struct connection *c)
{
    pthread_mutex_lock(&c->all->lock);
    if (c->phase != REFUSED)
        set_phase(c, READING);
    c->begun = false;
    c->served = true;
    pthread_mutex_unlock(&c->all->lock);
}

/* One answer from start to end.  It is small and the socket's buffer is empty, so it fits or the
 * client is gone. */
static void write_refusal(int fd, const kgrade_error *problem)
{
    unsigned status = problem_status(problem->code);
    cleanup_free char *body = problem_json(problem);
    cleanup_free char *answer = NULL;
    if (!body || asprintf(&answer,
                          "HTTP/1.1 %u %s\r\nContent-Type: " PROBLEM_CONTENT_TYPE
                          "\r\nContent-Length: %zu\r\n"
                          "Cache-Control: no-store\r\nConnection: close\r\n\r\n%s",
                          status, problem_reason(status), strlen(body), body) < 0) {
        answer = NULL;
        return;
    }
    if (send(fd, answer, strlen(answer), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        log_line(LOG_LEVEL_DEBUG, "a refusal could not be sent: the client is gone");
}

static void refuse_locked(struct connection *c, const kgrade_error *problem)
{
    write_refusal(c->fd, problem);
    /* Only the sending side is closed: closing with unread data would reset the connection and
     * might take the answer with it. */
    shutdown(c->fd, SHUT_WR);
    set_phase(c, REFUSED);
    c->refusal = problem_status(problem->code);
    snprintf(c->refusal_code, sizeof c->refusal_code, "%s", problem->code);
    if (!c->begun)
        log_line(LOG_LEVEL_INFO, "request method=- path=- status=%u code=%s", c->refusal,
                 c->refusal_code);
}

void connection_refuse(struct connection *c, const kgrade_error *problem)
{
    pthread_mutex_lock(&c->all->lock);
    if (c->phase == READING)
        refuse_locked(c, problem);
    pthread_mutex_unlock(&c->all->lock);
}

unsigned connection_refusal(struct connection *c, char ret_code[48])
{
    pthread_mutex_lock(&c->all->lock);
    unsigned status = c->refusal;
    memcpy(ret_code, c->refusal_code, sizeof c->refusal_code);
    pthread_mutex_unlock(&c->all->lock);
    return status;
}

bool connection_is_gone(struct connection *c)
{
    pthread_mutex_lock(&c->all->lock);
    struct pollfd p = {.fd = c->fd};
    bool gone = poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR));
    pthread_mutex_unlock(&c->all->lock);
    return gone;
}

uint64_t connections_enforce(struct connections *all)
{
    kgrade_error late;
    fail(&late, "request_timeout", "Send the whole request without pauses.",
         "The request did not arrive within %g s.", (double)all->timeout_ns / (double)IO_NS_PER_S);

    pthread_mutex_lock(&all->lock);
    uint64_t now = io_now();
    uint64_t earliest = now + all->timeout_ns;
    for (struct connection *c = all->first; c; c = c->next) {
        if (c->deadline <= now) {
            /* A kept-alive connection without a request is just idle. */
            if (c->phase == READING && (c->begun || !c->served)) {
                refuse_locked(c, &late);
                c->deadline = now + LINGER_NS;
            } else {
                shutdown(c->fd, SHUT_RDWR);
                c->deadline = IO_NO_DEADLINE;
            }
        }
        if (c->deadline < earliest)
            earliest = c->deadline;
    }
    pthread_mutex_unlock(&all->lock);
    return earliest;
}

void connections_refuse_partial(struct connections *all, const kgrade_error *problem)
{
    pthread_mutex_lock(&all->lock);
    for (struct connection *c = all->first; c; c = c->next)
        if (c->phase == READING && c->begun)
            refuse_locked(c, problem);
    pthread_mutex_unlock(&all->lock);
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / IO_NS_PER_S), (long)(ns % IO_NS_PER_S)};
}

bool connections_flush(struct connections *all, uint64_t deadline)
{
    const struct timespec until = timespec_of(deadline);
    int timed_out = 0;
    pthread_mutex_lock(&all->lock);
    while (all->busy && !timed_out)
        timed_out = pthread_cond_timedwait(&all->settled, &all->lock, &until);
    bool settled = !all->busy;
    pthread_mutex_unlock(&all->lock);
    return settled;
}

bool connections_cut(struct connections *all, uint64_t deadline)
{
    const struct timespec until = timespec_of(deadline);
    int timed_out = 0;
    pthread_mutex_lock(&all->lock);
    for (const struct connection *c = all->first; c; c = c->next)
        shutdown(c->fd, SHUT_RDWR);
    while (all->first && !timed_out)
        timed_out = pthread_cond_timedwait(&all->settled, &all->lock, &until);
    bool closed = !all->first;
    pthread_mutex_unlock(&all->lock);
    return closed;
}

unsigned connections_waiting(struct connections *all)
{
    unsigned n = 0;
    pthread_mutex_lock(&all->lock);
    for (const struct connection *c = all->first; c; c = c->next)
        n += c->phase == WAITING;
    pthread_mutex_unlock(&all->lock);
    return n;
}
