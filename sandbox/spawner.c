/*
 * kgrade-spawner: the process that makes jails.
 *
 * One loop waits for requests, for the deaths of jails, for leashes that are let go and for
 * deadlines. It owns every jail; when the request socket closes, for whatever reason, it kills them
 * all and ends. A jail dies with the spawner: its first process watches a pipe and, at the full
 * level, has a death signal.  The spawner itself has no death signal: that would fire when the
 * *thread* of the client that started it ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fail.h"
#include "jail.h"
#include "protocol.h"
#include "reduced.h"

#define STOP_NS (5 * IO_NS_PER_S)          /* how long the end waits for killed jails */
#define EMPTY_FIRST_NS 500000              /* until a killed jail's cgroup is looked at again ... */
#define EMPTY_LAST_NS (100 * IO_NS_PER_MS) /* ... and at most, doubling */

struct slot {
    bool used;
    struct jail_process process;
    int leash;
    uint64_t deadline; /* of the jail; once it is being killed, of the grace for that */
    enum jail_cause cause;
    bool finished;             /* the first process is reaped: its status is known */
    struct jail_status status; /* to be told when the cgroup is empty, too */
    uint64_t pause;            /* until that is looked at again */
};

struct spawner {
    struct jail_host host;
    struct slot slots[JAIL_MAX_RUNNING];
    uint8_t buffer[PROTOCOL_MAX_BYTES];
    struct protocol_request request;
};

static void answer(int leash, const struct jail_status *status)
{
    struct protocol_status message;
    memset(&message, 0, sizeof message);
    message.magic = PROTOCOL_STATUS_MAGIC;
    message.size = sizeof message;
    message.status = *status;
    /* A client that has gone does not want to know. */
    send(leash, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void refuse(int leash, const kgrade_error *error)
{
    struct jail_status status;
    memset(&status, 0, sizeof status);
    status.end = JAIL_NOT_STARTED;
    status.error = *error;
    answer(leash, &status);
}

static void kill_slot(struct spawner *s, struct slot *slot, enum jail_cause cause)
{
    bool again = slot->cause != JAIL_CAUSE_NONE;
    if (!again)
        slot->cause = cause;
    jail_process_kill(&s->host, &slot->process, again);
    slot->deadline = io_now() + JAIL_GRACE_NS;
}

/* The first process is dead.  At the full level so is everything else. */
static void finish_slot(struct spawner *s, struct slot *slot)
{
    jail_finish(&s->host, &slot->process, slot->cause, &slot->status);
    slot->finished = true;
    slot->pause = EMPTY_FIRST_NS;
    if (s->host.level == SANDBOX_REDUCED) {
        pid_t known[JAIL_MAX_RUNNING];
        size_t n = 0;
        for (size_t i = 0; i < JAIL_MAX_RUNNING; i++)
            if (s->slots[i].used && !s->slots[i].finished)
                known[n++] = s->slots[i].process.pid;
        reduced_kill_strays(known, n);
    }
}

/* Says how a finished jail ended, when the kernel says that nothing lives in its cgroup. */
static void release_slot(struct spawner *s, struct slot *slot)
{
    if (!jail_release(&s->host, &slot->process)) {
        slot->deadline = io_now() + slot->pause;
        slot->pause = 2 * slot->pause < EMPTY_LAST_NS ? 2 * slot->pause : EMPTY_LAST_NS;
        return;
    }
    answer(slot->leash, &slot->status);
    close(slot->leash);
    slot->used = false;
}

/* Requests */

static size_t passed_fds(struct msghdr *message, int *fds, size_t limit)
{
    size_t n = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (n < limit)
                fds[n++] = fd;
            else
                close(fd);
        }
    }
    return n;
}

static int start_jail(struct spawner *s, const int *fds, size_t n_fds, size_t size,
                      kgrade_error *err)
{
    if (protocol_parse(s->buffer, size, n_fds, &s->request, err))
        return -1;
    protocol_take_fds(&s->request, fds);
    unsigned at = 0;
    while (at < JAIL_MAX_RUNNING && s->slots[at].used)
        at++;
    if (at == JAIL_MAX_RUNNING)
        return fail(err, "sandbox_busy", "Start fewer jails at a time.",
                    "All %u jails of the spawner are in use.", JAIL_MAX_RUNNING);
    struct slot *slot = &s->slots[at];
    struct jail_process process;
    if (jail_launch(&s->host, &s->request.spec, at, false, &process, err))
        return -1;
    *slot = (struct slot){.used = true,
                          .process = process,
                          .leash = fds[0],
                          .deadline = process.started + s->request.spec.limits.wall_ns};
    return 0;
}

/* Takes one request.  False when the client is gone.  An empty message also reads as nothing, so
 * the hang-up is what counts. */
static bool take_request(struct spawner *s, bool hung_up)
{
    union {
        struct cmsghdr align;
        char data[CMSG_SPACE((PROTOCOL_MAX_PASSED + 1) * sizeof(int))];
    } control;
    struct iovec io = {.iov_base = s->buffer, .iov_len = sizeof s->buffer};
    struct msghdr message = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t size = recvmsg(PROTOCOL_SOCKET, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (size < 0)
        return errno == EINTR || errno == EAGAIN || errno == EMFILE || errno == ENOMEM;
    int fds[PROTOCOL_MAX_PASSED + 2];
    size_t n = passed_fds(&message, fds, sizeof fds / sizeof *fds);
    if (size == 0 && n == 0)
        return !hung_up;

    kgrade_error err = {0};
    int started;
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
        started = fail(&err, "jail_invalid", NULL,
                       "The request for a jail is too long or has too many descriptors.");
    else
        started = start_jail(s, fds, n, (size_t)size, &err);
    if (started && n > 0)
        refuse(fds[0], &err);
    for (size_t i = started ? 0 : 1; i < n; i++)
        close(fds[i]);
    return true;
}

/* The loop */

struct watch {
    struct pollfd fds[1 + 2 * JAIL_MAX_RUNNING];
    struct slot *slots[1 + 2 * JAIL_MAX_RUNNING];
    nfds_t n;
    uint64_t next; /* deadline */
};

static void add(struct watch *w, int fd, struct slot *slot)
{
    w->fds[w->n] = (struct pollfd){.fd = fd, .events = POLLIN};
    w->slots[w->n++] = slot;
}

static void collect(struct spawner *s, bool requests, struct watch *w)
{
    w->n = 0;
    w->next = IO_NO_DEADLINE;
    add(w, requests ? PROTOCOL_SOCKET : -1, NULL);
    for (size_t i = 0; i < JAIL_MAX_RUNNING; i++) {
        struct slot *slot = &s->slots[i];
        if (!slot->used)
            continue;
        if (slot->deadline < w->next)
            w->next = slot->deadline;
        if (slot->finished)
            continue;
        add(w, slot->process.pidfd, slot);
        if (slot->cause == JAIL_CAUSE_NONE) /* else it is being killed: nothing more to hear */
            add(w, slot->leash, slot);
    }
}

static void serve(struct spawner *s, const struct watch *w)
{
    for (nfds_t i = 1; i < w->n; i++) {
        struct slot *slot = w->slots[i];
        if (!w->fds[i].revents || !slot->used || slot->finished)
            continue;
        if (w->fds[i].fd != slot->process.pidfd) {
            kill_slot(s, slot, JAIL_CAUSE_KILLED); /* any byte, or the other end is closed */
            continue;
        }
        finish_slot(s, slot);
        release_slot(s, slot);
    }
    uint64_t now = io_now();
    for (size_t i = 0; i < JAIL_MAX_RUNNING; i++) {
        struct slot *slot = &s->slots[i];
        if (!slot->used || now < slot->deadline)
            continue;
        if (slot->finished)
            release_slot(s, slot);
        else
            kill_slot(s, slot, JAIL_CAUSE_DEADLINE);
    }
}

static void run(struct spawner *s)
{
    static struct watch w;
    for (;;) {
        collect(s, true, &w);
        if (poll(w.fds, w.n, io_poll_timeout(w.next)) < 0)
            continue;
        serve(s, &w);
        if (w.fds[0].revents && !take_request(s, w.fds[0].revents & (POLLHUP | POLLERR)))
            return;
    }
}

static void stop(struct spawner *s)
{
    static struct watch w;
    for (size_t i = 0; i < JAIL_MAX_RUNNING; i++)
        if (s->slots[i].used && !s->slots[i].finished)
            kill_slot(s, &s->slots[i], JAIL_CAUSE_KILLED);
    for (uint64_t end = io_now() + STOP_NS;;) {
        collect(s, false, &w);
        if ((w.n == 1 && w.next == IO_NO_DEADLINE) || io_now() >= end)
            return;
        if (poll(w.fds, w.n, io_poll_timeout(w.next < end ? w.next : end)) >= 0)
            serve(s, &w);
    }
}

static int prepare(struct spawner *s, const char *level, kgrade_error *err)
{
    bool reduced = !strcmp(level, sandbox_level_name(SANDBOX_REDUCED));
    if (!reduced && strcmp(level, sandbox_level_name(SANDBOX_FULL)))
        return fail(err, "spawner_failed", NULL, "The spawner knows no level %s.", level);
    struct rlimit files;
    if (!getrlimit(RLIMIT_NOFILE, &files)) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files); /* four descriptors a jail; less means fewer jails */
    }
    /* A reduced jail may share our user, but must not reach our memory.  A full one cannot see us,
     * and its first process must stay dumpable until its user maps are written. */
    if (reduced)
        prctl(PR_SET_DUMPABLE, 0);
    if (jail_host_init(&s->host, reduced ? SANDBOX_REDUCED : SANDBOX_FULL, err))
        return -1;
    if (reduced && reduced_adopt_orphans())
        return fail_errno(err, "sandbox_unavailable", NULL, "Orphans cannot be adopted");
    cgroup_group_open(&s->host.cgroups, NULL); /* without, jails have no cgroups */
    return jail_rehearse(&s->host, err);
}

int main(int argc, char **argv)
{
    static struct spawner s;
    s.host.cgroups = CGROUP_NO_GROUP;
    struct protocol_hello hello;
    memset(&hello, 0, sizeof hello);
    hello.magic = PROTOCOL_HELLO_MAGIC;
    signal(SIGPIPE, SIG_IGN);
    if (argc != 2 || fcntl(PROTOCOL_SOCKET, F_SETFD, FD_CLOEXEC)) {
        fprintf(stderr, "kgrade-spawner is started by kgrade, not by hand.\n");
        return 2;
    }
    hello.ready = prepare(&s, argv[1], &hello.error) == 0;
    if (send(PROTOCOL_SOCKET, &hello, sizeof hello, MSG_NOSIGNAL) != (ssize_t)sizeof hello)
        return 3;
    if (hello.ready) {
        run(&s);
        stop(&s);
    }
    cgroup_group_close(&s.host.cgroups);
    jail_host_free(&s.host);
    return hello.ready ? 0 : 3;
}
