#define _GNU_SOURCE
#include "manager.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire.h"

#define AWAIT_S 120
#define END_S 120
#define FIRST_DESCRIPTOR 3

static int bound(const char *folder, const char *name, int type)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", folder, name);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) ||
        (type == SOCK_STREAM && listen(fd, 64)))
        return -1;
    return fd;
}

bool manager_open(struct manager *m)
{
    memset(m, 0, sizeof *m);
    strcpy(m->folder, "/tmp/kgrade-manager-XXXXXX");
    if (!mkdtemp(m->folder))
        return false;
    snprintf(m->log, sizeof m->log, "%s/log", m->folder);
    m->listener = bound(m->folder, "socket", SOCK_STREAM);
    m->notified = bound(m->folder, "notify", SOCK_DGRAM);
    return m->listener >= 0 && m->notified >= 0;
}

void manager_close(struct manager *m)
{
    if (m->pid > 0) {
        kill(m->pid, SIGKILL);
        waitpid(m->pid, NULL, 0);
    }
    close(m->listener);
    close(m->notified);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", m->folder);
    if (system(command))
        printf("cannot remove %s\n", m->folder);
}

static void set_number(const char *name, unsigned long value)
{
    char text[32];
    snprintf(text, sizeof text, "%lu", value);
    setenv(name, text, 1);
}

static void become(struct manager *m, const char *program, const struct manager_start *start)
{
    char place[128];
    const char *argv[32] = {program, "--isolation", "reduced", "--config", "/dev/null"};
    size_t n = 5;
    for (size_t i = 0; start->arguments[i]; i++)
        argv[n++] = start->arguments[i];

    snprintf(place, sizeof place, "%s/notify", m->folder);
    setenv("NOTIFY_SOCKET", place, 1);
    setenv("XDG_RUNTIME_DIR", m->folder, 1);
    setenv("XDG_STATE_HOME", m->folder, 1);
    if (start->watchdog_usec) {
        set_number("WATCHDOG_USEC", start->watchdog_usec);
        set_number("WATCHDOG_PID", (unsigned long)getpid() + start->others_watchdog);
    }
    int log = open(m->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    dup2(log, STDERR_FILENO);
    if (start->sockets) {
        set_number("LISTEN_PID", (unsigned long)getpid() + start->others_socket);
        set_number("LISTEN_FDS", start->sockets);
        setenv("LISTEN_FDNAMES", "kgraded.socket", 1);
        /* Above the places that they go to. */
        int fd = fcntl(start->socket < 0 ? m->listener : start->socket, F_DUPFD_CLOEXEC,
                       FIRST_DESCRIPTOR + (int)start->sockets);
        for (unsigned i = 0; i < start->sockets; i++)
            dup2(fd, FIRST_DESCRIPTOR + (int)i);
    }
    execv(program, (char *const *)argv);
    _exit(127);
}

bool manager_run(struct manager *m, const char *program, const struct manager_start *start)
{
    manager_forget(m);
    fflush(stdout);
    m->pid = fork();
    if (m->pid == 0)
        become(m, program, start);
    return m->pid > 0;
}

void manager_forget(struct manager *m)
{
    manager_hear(m);
    m->heard[0] = 0;
}

/* One notification that is there; false when there is none. */
static bool hear_one(struct manager *m)
{
    char text[4096];
    ssize_t n = recv(m->notified, text, sizeof text - 1, MSG_DONTWAIT);
    if (n < 0)
        return false;
    text[n] = 0;
    /* A notification of several lines stays one here. */
    for (char *p = text; (p = strchr(p, '\n'));)
        *p = '|';
    size_t used = strlen(m->heard);
    if (used + (size_t)n + 2 < sizeof m->heard)
        snprintf(m->heard + used, sizeof m->heard - used, "%s\n", text);
    return true;
}

void manager_hear(struct manager *m)
{
    while (hear_one(m))
        ;
}

static const char *find(const struct manager *m, const char *beginning)
{
    for (const char *line = m->heard; *line; line = strchr(line, '\n') + 1)
        if (!strncmp(line, beginning, strlen(beginning)))
            return line;
    return NULL;
}

unsigned manager_count(const struct manager *m, const char *beginning)
{
    unsigned n = 0;
    for (const char *line = m->heard; *line; line = strchr(line, '\n') + 1)
        n += !strncmp(line, beginning, strlen(beginning));
    return n;
}

static void print_log(const struct manager *m)
{
    char text[4096];
    FILE *f = fopen(m->log, "r");
    for (size_t n; f && (n = fread(text, 1, sizeof text, f)) > 0;)
        fwrite(text, 1, n, stdout);
    if (f)
        fclose(f);
}

const char *manager_await(struct manager *m, const char *beginning)
{
    for (double end = now_s() + AWAIT_S; now_s() < end;) {
        manager_hear(m);
        const char *line = find(m, beginning);
        if (line)
            return line;
        siginfo_t info = {0};
        if (!waitid(P_PID, (id_t)m->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid)
            break;
        struct pollfd p = {.fd = m->notified, .events = POLLIN};
        poll(&p, 1, 100);
    }
    printf("no notification '%s', but:\n%sThe log:\n", beginning, m->heard);
    print_log(m);
    return NULL;
}

int manager_reap(struct manager *m)
{
    int status = 0;
    pid_t pid = m->pid;
    m->pid = 0;
    for (double end = now_s() + END_S; now_s() < end; sleep_s(0.02)) {
        manager_hear(m);
        if (waitpid(pid, &status, WNOHANG) == pid) {
            manager_hear(m);
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        }
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return -1;
}

bool manager_logged(const struct manager *m, const char *text)
{
    static char log[1 << 20];
    FILE *f = fopen(m->log, "r");
    size_t n = f ? fread(log, 1, sizeof log - 1, f) : 0;
    log[n] = 0;
    if (f)
        fclose(f);
    return strstr(log, text) != NULL;
}

int manager_dial(const struct manager *m)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.90s/socket", m->folder);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address)) {
        close(fd);
        return -1;
    }
    return fd;
}
