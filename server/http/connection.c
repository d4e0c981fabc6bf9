#define _GNU_SOURCE
#include "connection.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/condition.h"
#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "../log.h"
#include "problem.h"

/* How long a client that was too slow may go on being so before it is cut. */
#define LINGER_NS IO_NS_PER_S

/* Ends of clients that are taken from the system at a time. */
#define MAX_ENDS 64

enum phase { READING, WAITING, ANSWERING, REFUSED };

struct connection {
    struct connections *all;
    struct connection *previous, *next;
    struct connection *next_resumed;
    struct MHD_Connection *mhd;
    uint64_t serial; /* a name that is never used again */
    int fd;
    enum phase phase;
    uint64_t deadline;
    bool begun;  /* a request line has arrived */
    bool served; /* a request has been answered */
    bool asleep; /* suspended; who sets it to false resumes it, and nobody else may */
    bool woken;  /* something happened since connection_look */
    bool gone;
    bool asked; /* an interim answer has been written to this request */
    struct access_peer peer;
    unsigned refusal;
    char refusal_code[48];
};

struct connections {
    pthread_mutex_t lock;
    pthread_cond_t settled; /* busy fell to 0, or the last one was closed */
    uint64_t timeout_ns;
    struct connection *first;
    uint64_t serial;
    unsigned open, waiting;
    unsigned busy; /* WAITING or ANSWERING */
    bool ending;   /* nothing may sleep */

    pthread_t keeper;
    int clients; /* epoll: clients of connections that are asleep, and the bell */
    int bell;    /* eventfd: the keeper has to look earlier than it thought */
    bool stop;
    uint64_t visit; /* when the keeper looks next */
};

/* In the place of a serial. */
#define BELL 0

static bool is_busy(enum phase phase)
{
    return phase == WAITING || phase == ANSWERING;
}

static void ring(const struct connections *all)
{
    const uint64_t one = 1;
    /* Fails only when the bell is ringing already. */
    (void)!write(all->bell, &one, sizeof one);
}

static void set_deadline(struct connection *c, uint64_t deadline)
{
    c->deadline = deadline;
    if (deadline < c->all->visit) {
        c->all->visit = deadline;
        ring(c->all);
    }
}

static void set_phase(struct connection *c, enum phase phase, uint64_t deadline)
{
    struct connections *all = c->all;
    all->waiting -= c->phase == WAITING;
    all->waiting += phase == WAITING;
    all->busy -= is_busy(c->phase);
    all->busy += is_busy(phase);
    if (!all->busy)
        pthread_cond_broadcast(&all->settled);
    c->phase = phase;
    set_deadline(c, deadline);
}

static uint64_t usual_deadline(const struct connections *all)
{
    return io_now() + all->timeout_ns;
}

/* Sleeping and waking. */

/* Puts c on the list of those to be resumed if it is asleep. */
static void wake_locked(struct connection *c, struct connection **resumed)
{
    c->woken = true;
    if (!c->asleep)
        return;
    c->asleep = false;
    c->deadline = IO_NO_DEADLINE;
    epoll_ctl(c->all->clients, EPOLL_CTL_DEL, c->fd, NULL);
    c->next_resumed = *resumed;
    *resumed = c;
}

/* Without the lock, since the library takes one of its own.  None of the list can go away before it
 * is resumed. */
static void resume(struct connection *resumed)
{
    while (resumed) {
        struct connection *c = resumed;
        resumed = c->next_resumed;
        MHD_resume_connection(c->mhd);
    }
}

bool connection_sleep(struct connection *c, uint64_t deadline, bool interim)
{
    struct connections *all = c->all;
    pthread_mutex_lock(&all->lock);
    bool refused = c->phase == REFUSED;
    if (!refused)
        set_phase(c, WAITING, deadline);
    pthread_mutex_unlock(&all->lock);
    if (refused)
        return false;

    /* First asleep, then known to be: the other way round it might be resumed before it sleeps. */
    MHD_suspend_connection(c->mhd);
    struct epoll_event client = {.data.u64 = c->serial};
    pthread_mutex_lock(&all->lock);
    client.events = interim && !c->asked ? EPOLLRDHUP : 0;
    bool at_once = c->woken || c->gone || all->ending;
    if (!at_once) {
        c->asleep = true;
        if (epoll_ctl(all->clients, EPOLL_CTL_ADD, c->fd, &client))
            log_line(LOG_LEVEL_DEBUG, "a client's end will not be noticed: %s", strerror(errno));
    }
    pthread_mutex_unlock(&all->lock);
    if (at_once)
        MHD_resume_connection(c->mhd);
    return true;
}

void connection_wake(struct connection *c)
{
    struct connection *resumed = NULL;
    pthread_mutex_lock(&c->all->lock);
    wake_locked(c, &resumed);
    pthread_mutex_unlock(&c->all->lock);
    resume(resumed);
}

unsigned connection_look(struct connection *c)
{
    pthread_mutex_lock(&c->all->lock);
    c->woken = false;
    unsigned sight = (c->gone ? CONNECTION_GONE : 0) | (c->all->ending ? CONNECTION_ENDING : 0);
    pthread_mutex_unlock(&c->all->lock);
    return sight;
}

static void wake_all(struct connections *all, bool ending)
{
    struct connection *resumed = NULL;
    pthread_mutex_lock(&all->lock);
    all->ending = all->ending || ending;
    for (struct connection *c = all->first; c; c = c->next)
        if (c->phase == WAITING || c->phase == ANSWERING)
            wake_locked(c, &resumed);
    pthread_mutex_unlock(&all->lock);
    resume(resumed);
}

void connections_wake(struct connections *all)
{
    wake_all(all, false);
}

void connections_end_waits(struct connections *all)
{
    wake_all(all, true);
}

/* Refusing. */

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
     * might take the answer along. */
    shutdown(c->fd, SHUT_WR);
    c->refusal = problem_status(problem->code);
    memcpy(c->refusal_code, problem->code, sizeof c->refusal_code);
    set_phase(c, REFUSED, usual_deadline(c->all));
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

/* The keeper. */

static void too_late(struct connection *c, uint64_t now, const kgrade_error *late,
                     struct connection **resumed)
{
    if (c->phase == WAITING) {
        c->deadline = IO_NO_DEADLINE;
        wake_locked(c, resumed);
    } else if (c->phase == READING && (c->begun || !c->served)) {
        refuse_locked(c, late);
        c->deadline = now + LINGER_NS;
    } else {
        /* Among these are kept-alive connections without a request, which are just idle. */
        shutdown(c->fd, SHUT_RDWR);
        c->deadline = IO_NO_DEADLINE;
    }
}

/* Returns when to look again; no deadline set in the meantime goes unnoticed. */
static uint64_t enforce_deadlines(struct connections *all)
{
    kgrade_error late;
    fail(&late, "request_timeout", "Send the whole request without pauses.",
         "The request did not arrive within %g s.", (double)all->timeout_ns / (double)IO_NS_PER_S);

    struct connection *resumed = NULL;
    pthread_mutex_lock(&all->lock);
    uint64_t now = io_now();
    uint64_t earliest = now + all->timeout_ns;
    for (struct connection *c = all->first; c; c = c->next) {
        if (c->deadline <= now)
            too_late(c, now, &late, &resumed);
        if (c->deadline < earliest)
            earliest = c->deadline;
    }
    all->visit = earliest;
    pthread_mutex_unlock(&all->lock);
    resume(resumed);
    return earliest;
}

static struct connection *find(const struct connections *all, uint64_t serial)
{
    struct connection *c = all->first;
    while (c && c->serial != serial)
        c = c->next;
    return c;
}

/* What the system says of the client of a connection that is, or was a moment ago, asleep. */
static void client_ended(struct connections *all, const struct epoll_event *what)
{
    static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct epoll_event ends_only = {.events = 0, .data = what->data};
    struct connection *resumed = NULL;
    pthread_mutex_lock(&all->lock);
    struct connection *c = find(all, what->data.u64);
    if (c && c->asleep) {
        if (what->events & (EPOLLHUP | EPOLLERR)) {
            c->gone = true;
            wake_locked(c, &resumed);
        } else {
            c->asked = true;
            epoll_ctl(all->clients, EPOLL_CTL_MOD, c->fd, &ends_only);
            (void)!send(c->fd, interim, sizeof interim - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        }
    }
    pthread_mutex_unlock(&all->lock);
    resume(resumed);
}

static void *keep(void *data)
{
    struct connections *all = data;
    struct epoll_event ends[MAX_ENDS];
    bool stop = false;
    while (!stop) {
        int n = epoll_wait(all->clients, ends, MAX_ENDS, io_poll_timeout(enforce_deadlines(all)));
        for (int i = 0; i < n; i++) {
            uint64_t rings;
            if (ends[i].data.u64 == BELL)
                (void)!read(all->bell, &rings, sizeof rings);
            else
                client_ended(all, &ends[i]);
        }
        pthread_mutex_lock(&all->lock);
        stop = all->stop;
        pthread_mutex_unlock(&all->lock);
    }
    return NULL;
}

/* All of them. */

static void destroy(struct connections *all)
{
    if (all->clients >= 0)
        close(all->clients);
    if (all->bell >= 0)
        close(all->bell);
    pthread_cond_destroy(&all->settled);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

int connections_new(uint64_t timeout_ns, struct connections **ret, kgrade_error *err)
{
    struct connections *all = calloc(1, sizeof *all);
    if (!all)
        return fail(err, "out_of_memory", NULL, "There is no memory for the connections.");
    condition_init(&all->settled);
    pthread_mutex_init(&all->lock, NULL);
    all->timeout_ns = timeout_ns;
    all->clients = epoll_create1(EPOLL_CLOEXEC);
    all->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    struct epoll_event bell = {.events = EPOLLIN, .data.u64 = BELL};
    int failed = 0;
    if (all->clients < 0 || all->bell < 0 ||
        epoll_ctl(all->clients, EPOLL_CTL_ADD, all->bell, &bell))
        failed = errno;
    else
        failed = pthread_create(&all->keeper, NULL, keep, all);
    if (failed) {
        destroy(all);
        return fail(err, "thread_failed", NULL,
                    "The thread that keeps the connections does not start: %s.", strerror(failed));
    }
    *ret = all;
    return 0;
}

void connections_free(struct connections *all)
{
    pthread_mutex_lock(&all->lock);
    all->stop = true;
    pthread_mutex_unlock(&all->lock);
    ring(all);
    pthread_join(all->keeper, NULL);
    destroy(all);
}

void connections_refuse_partial(struct connections *all, const kgrade_error *problem)
{
    pthread_mutex_lock(&all->lock);
    for (struct connection *c = all->first; c; c = c->next)
        if (c->phase == READING && c->begun)
            refuse_locked(c, problem);
    pthread_mutex_unlock(&all->lock);
}

bool connections_flush(struct connections *all, uint64_t deadline)
{
    bool in_time = true;
    pthread_mutex_lock(&all->lock);
    while (all->busy && in_time)
        in_time = condition_wait(&all->settled, &all->lock, deadline);
    bool settled = !all->busy;
    pthread_mutex_unlock(&all->lock);
    return settled;
}

bool connections_cut(struct connections *all, uint64_t deadline)
{
    bool in_time = true;
    pthread_mutex_lock(&all->lock);
    for (const struct connection *c = all->first; c; c = c->next)
        shutdown(c->fd, SHUT_RDWR);
    while (all->first && in_time)
        in_time = condition_wait(&all->settled, &all->lock, deadline);
    bool closed = !all->first;
    pthread_mutex_unlock(&all->lock);
    return closed;
}

struct connections_counts connections_count(struct connections *all)
{
    pthread_mutex_lock(&all->lock);
    struct connections_counts counts = {all->open, all->waiting};
    pthread_mutex_unlock(&all->lock);
    return counts;
}

/* One of them. */

static void ask_peer(int fd, struct access_peer *ret)
{
    int domain = 0;
    socklen_t size = sizeof domain;
    struct ucred credentials = {.uid = (uid_t)-1};
    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    ret->is_unix = domain == AF_UNIX;
    size = sizeof credentials;
    if (ret->is_unix && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size))
        credentials.uid = (uid_t)-1;
    ret->uid = credentials.uid;
}

struct connection *connection_open(struct connections *all, struct MHD_Connection *mhd, int fd)
{
    struct connection *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->all = all;
    c->mhd = mhd;
    c->fd = fd;
    ask_peer(fd, &c->peer);
    pthread_mutex_lock(&all->lock);
    all->open++;
    c->serial = ++all->serial;
    set_phase(c, READING, usual_deadline(all));
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
    set_phase(c, READING, IO_NO_DEADLINE);
    all->open--;
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

const struct access_peer *connection_peer(const struct connection *c)
{
    return &c->peer;
}

void connection_begin(struct connection *c)
{
    pthread_mutex_lock(&c->all->lock);
    c->begun = true;
    pthread_mutex_unlock(&c->all->lock);
}

bool connection_answer(struct connection *c)
{
    pthread_mutex_lock(&c->all->lock);
    bool refused = c->phase == REFUSED;
    if (!refused)
        set_phase(c, ANSWERING, usual_deadline(c->all));
    pthread_mutex_unlock(&c->all->lock);
    return !refused;
}

void connection_next(struct connection *c)
{
    pthread_mutex_lock(&c->all->lock);
    if (c->phase != REFUSED)
        set_phase(c, READING, usual_deadline(c->all));
    c->begun = c->asked = false;
    c->served = true;
    pthread_mutex_unlock(&c->all->lock);
}
