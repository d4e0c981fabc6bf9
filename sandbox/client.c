/* The client's side of the sandbox: safe to use from several threads, never forks by itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fail.h"
#include "cgroup.h"
#include "protocol.h"

#define START_NS (20 * IO_NS_PER_S) /* for the spawner's rehearsal */
#define STOP_NS (10 * IO_NS_PER_S)  /* longer than the spawner waits for its jails */
#define SEND_SECONDS 10             /* for the spawner to take a request */
#define FREE_NS (10 * IO_NS_PER_S)  /* for a killed jail to be dead */

struct sandbox {
    char *spawner; /* path of the program */
    enum sandbox_level level;
    pthread_mutex_t lock; /* around sending and starting again */
    pid_t pid;
    int socket;
};

struct jail {
    int leash;
    bool ended; /* status is valid */
    struct jail_status status;
};

const char *sandbox_level_name(enum sandbox_level level)
{
    switch (level) {
    case SANDBOX_FULL:
        return "full";
    case SANDBOX_REDUCED:
        return "reduced";
    }
    return "unknown";
}

enum sandbox_level sandbox_level_of(const struct sandbox *sandbox)
{
    return sandbox->level;
}

/* Starting and stopping */

static int spawn_with(const struct sandbox *sandbox, int socket,
                      posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes,
                      pid_t *ret_pid)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int r = posix_spawn_file_actions_adddup2(actions, socket, PROTOCOL_SOCKET);
    r = r ? r : posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDWR, 0);
    r = r ? r : posix_spawn_file_actions_adddup2(actions, 0, 1);
    r = r ? r : posix_spawn_file_actions_addclosefrom_np(actions, PROTOCOL_SOCKET + 1);
    r = r ? r : posix_spawnattr_setsigmask(attributes, &none);
    r = r ? r : posix_spawnattr_setsigdefault(attributes, &all);
    /* A session of its own: ^C on the terminal is for the client, which then stops the spawner. */
    r = r ? r
          : posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                     POSIX_SPAWN_SETSID);
    if (r)
        return r;
    char *argv[] = {sandbox->spawner, (char *)(uintptr_t)sandbox_level_name(sandbox->level), NULL};
    char folder[PROTOCOL_MAX_PATH + 8];
    const char *tmpdir = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "TMPDIR=%s", tmpdir && *tmpdir == '/' ? tmpdir : "/tmp");
    char locale[] = "LC_ALL=C";
    char *env[] = {locale, folder, NULL};
    return posix_spawn(ret_pid, sandbox->spawner, actions, attributes, argv, env);
}

static int spawn(const struct sandbox *sandbox, int socket, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    int r = posix_spawn_file_actions_init(&actions);
    if (r)
        return r;
    posix_spawnattr_t attributes;
    r = posix_spawnattr_init(&attributes);
    if (!r) {
        r = spawn_with(sandbox, socket, &actions, &attributes, ret_pid);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

/* Waits for the spawner's end; after the deadline kills it, which kills its jails. */
static void reap(pid_t pid, uint64_t deadline)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (;;) {
        pid_t r = waitpid(pid, NULL, WNOHANG);
        if (r == pid || (r < 0 && errno != EINTR))
            return;
        if (io_now() >= deadline)
            kill(pid, SIGKILL);
        nanosleep(&pause, NULL);
    }
}

static int read_hello(int socket, kgrade_error *err)
{
    struct pollfd p = {.fd = socket, .events = POLLIN};
    uint64_t deadline = io_now() + START_NS;
    int r;
    do
        r = poll(&p, 1, io_poll_timeout(deadline));
    while (r < 0 && errno == EINTR);
    struct protocol_hello hello;
    if (r <= 0 || recv(socket, &hello, sizeof hello, MSG_DONTWAIT) != (ssize_t)sizeof hello ||
        hello.magic != PROTOCOL_HELLO_MAGIC)
        return fail(err, "spawner_failed", "Client and spawner must come from the same build.",
                    "The spawner did not report for work.");
    if (!hello.ready) {
        hello.error.code[sizeof hello.error.code - 1] = 0;
        hello.error.message[sizeof hello.error.message - 1] = 0;
        hello.error.hint[sizeof hello.error.hint - 1] = 0;
        return fail(err, hello.error.code, hello.error.hint, "%s", hello.error.message);
    }
    return 0;
}

/* Starts a spawner and waits for its report.  On success the sandbox has its process and socket. */
static int start_spawner(struct sandbox *sandbox, kgrade_error *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return fail_errno(err, "spawner_failed", NULL, "No socket for the spawner");
    cleanup_close int mine = ends[0];
    cleanup_close int first = ends[1];
    /* Above the standard ones, in case the caller runs with those closed. */
    cleanup_close int theirs = fcntl(first, F_DUPFD_CLOEXEC, PROTOCOL_SOCKET);
    struct timeval patience = {.tv_sec = SEND_SECONDS};
    if (theirs < 0 || setsockopt(mine, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience))
        return fail_errno(err, "spawner_failed", NULL, "No socket for the spawner");
    pid_t pid;
    int r = spawn(sandbox, theirs, &pid);
    if (r) {
        errno = r;
        return fail_errno(err, "spawner_failed", "Check that kgrade is installed completely.",
                          "%s cannot be started", sandbox->spawner);
    }
    close(steal_fd(&theirs));
    close(steal_fd(&first));
    if (read_hello(mine, err)) {
        close(steal_fd(&mine));
        reap(pid, io_now() + IO_NS_PER_S);
        return -1;
    }
    sandbox->pid = pid;
    sandbox->socket = steal_fd(&mine);
    return 0;
}

static void end_spawner(struct sandbox *sandbox)
{
    if (sandbox->socket >= 0)
        close(steal_fd(&sandbox->socket));
    if (sandbox->pid > 0)
        reap(sandbox->pid, io_now() + STOP_NS);
    sandbox->pid = 0;
}

int sandbox_start(const struct sandbox_options *options, struct sandbox **ret, kgrade_error *err)
{
    cleanup_free struct sandbox *sandbox = calloc(1, sizeof *sandbox);
    cleanup_free char *spawner = strdup(options->spawner);
    if (!sandbox || !spawner)
        return fail(err, "out_of_memory", NULL, "No memory for the sandbox.");
    sandbox->spawner = spawner;
    sandbox->level = options->level;
    sandbox->socket = -1;
    /* Where it cannot be, the spawner does without. */
    cgroup_home_step_aside(&cgroup_real_places, NULL);
    if (start_spawner(sandbox, err))
        return -1;
    steal_pointer(&spawner);
    pthread_mutex_init(&sandbox->lock, NULL);
    *ret = steal_pointer(&sandbox);
    return 0;
}

void sandbox_stop(struct sandbox *sandbox)
{
    if (!sandbox)
        return;
    end_spawner(sandbox);
    struct cgroup_home home;
    if (cgroup_home_find(&cgroup_real_places, &home, NULL) == 0)
        cgroup_sweep(&home); /* for a spawner that had to be killed */
    pthread_mutex_destroy(&sandbox->lock);
    free(sandbox->spawner);
    free(sandbox);
}

/* Jails */

static size_t collect_fds(const struct jail_spec *spec, int leash, int *fds)
{
    size_t n = 0;
    fds[n++] = leash;
    const int standard[] = {spec->stdin_fd, spec->stdout_fd, spec->stderr_fd};
    for (size_t i = 0; i < 3; i++)
        if (standard[i] >= 0)
            fds[n++] = standard[i];
    for (size_t i = 0; i < spec->n_fds; i++)
        fds[n++] = spec->fds[i];
    return n;
}

static int send_once(const struct sandbox *sandbox, const struct msghdr *message)
{
    ssize_t sent;
    if (sandbox->socket < 0) { /* the last start failed */
        errno = EPIPE;
        return -1;
    }
    do
        sent = sendmsg(sandbox->socket, message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -1 : 0;
}

/* A spawner that was killed took its jails with it, and those who wait for them are told so; the next jail gets a new
 * spawner.  With the lock held. */
static int send_or_start_again(struct sandbox *sandbox, const struct msghdr *message,
                               kgrade_error *err)
{
    if (!send_once(sandbox, message))
        return 0;
    if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) {
        end_spawner(sandbox);
        if (start_spawner(sandbox, err))
            return -1;
        if (!send_once(sandbox, message))
            return 0;
    }
    if (errno == EBADF)
        return fail(err, "jail_invalid", NULL, "A descriptor for the jail is not open.");
    return fail_errno(err, "spawner_failed", "Restart kgrade.",
                      "The spawner does not take requests");
}

static int send_request(struct sandbox *sandbox, const struct bytes *request, const int *fds,
                        size_t n_fds, kgrade_error *err)
{
    union {
        struct cmsghdr align;
        char data[CMSG_SPACE(PROTOCOL_MAX_PASSED * sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct iovec io = {.iov_base = request->data, .iov_len = request->size};
    struct msghdr message = {.msg_iov = &io,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_SPACE(n_fds * sizeof(int))};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
    memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));

    pthread_mutex_lock(&sandbox->lock);
    int r = send_or_start_again(sandbox, &message, err);
    pthread_mutex_unlock(&sandbox->lock);
    return r;
}

int jail_spawn(struct sandbox *sandbox, const struct jail_spec *spec, struct jail **ret,
               kgrade_error *err)
{
    cleanup_bytes struct bytes request = {0};
    if (protocol_encode(spec, &request, err))
        return -1;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return fail_errno(err, "spawner_failed", "Raise the limit of open files.",
                          "No leash can be made for a jail");
    cleanup_close int mine = ends[0];
    cleanup_close int theirs = ends[1];
    int fds[PROTOCOL_MAX_PASSED];
    size_t n_fds = collect_fds(spec, theirs, fds);
    /* The spawner's own check, so that a mistake is told at once. */
    cleanup_free struct protocol_request *parsed = malloc(sizeof *parsed);
    cleanup_free struct jail *jail = calloc(1, sizeof *jail);
    if (!parsed || !jail)
        return fail(err, "out_of_memory", NULL, "No memory for a jail.");
    if (protocol_parse(request.data, request.size, n_fds, parsed, err))
        return -1;
    if (send_request(sandbox, &request, fds, n_fds, err))
        return -1;
    jail->leash = steal_fd(&mine);
    *ret = steal_pointer(&jail);
    return 0;
}

/* Takes the status if it is there.  1: not yet.  It stays in the socket, which so keeps polling
 * readable. */
static int take_status(struct jail *jail, kgrade_error *err)
{
    struct protocol_status message;
    ssize_t n = recv(jail->leash, &message, sizeof message, MSG_DONTWAIT | MSG_TRUNC | MSG_PEEK);
    /* The spawner may close without having read a second jail_kill, which is told once and first.
     */
    if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNRESET))
        return 1;
    if (n <= 0)
        return fail(err, "spawner_failed",
                    "Grade again; a new spawner is started for the next jail.",
                    "The spawner ended before the jail did; its jails are being killed.");
    if (protocol_read_status(&message, (size_t)n, &jail->status, err))
        return -1;
    jail->ended = true;
    return 0;
}

int jail_wait(struct jail *jail, uint64_t deadline, struct jail_status *ret, kgrade_error *err)
{
    while (!jail->ended) {
        struct pollfd p = {.fd = jail->leash, .events = POLLIN};
        int r = poll(&p, 1, io_poll_timeout(deadline));
        if (r < 0 && errno != EINTR)
            return fail_errno(err, "io_failed", NULL, "Waiting for a jail failed");
        if (r > 0 && take_status(jail, err) < 0)
            return -1;
        if (!jail->ended && io_now() >= deadline)
            return fail(err, "io_timeout", NULL, "The jail did not end in time.");
    }
    *ret = jail->status;
    return 0;
}

int jail_poll_fd(const struct jail *jail)
{
    return jail->leash;
}

void jail_kill(struct jail *jail)
{
    /* If it cannot be sent, the jail or the spawner has ended, or a kill is already under way. */
    send(jail->leash, "k", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void jail_free(struct jail *jail)
{
    if (!jail)
        return;
    struct jail_status status;
    if (!jail->ended) {
        jail_kill(jail);
        jail_wait(jail, io_now() + FREE_NS, &status, NULL);
    }
    close(jail->leash);
    free(jail);
}
