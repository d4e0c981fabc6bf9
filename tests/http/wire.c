#define _GNU_SOURCE
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_S 120
#define STOP_S 120
#define MAX_ARGUMENTS 32
#define STORE_SUFFIX ".store"

extern char **environ;

double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void sleep_s(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

static size_t slurp(const char *path, char *buffer, size_t size)
{
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(buffer, 1, size - 1, f) : 0;
    if (f)
        fclose(f);
    buffer[n] = 0;
    return n;
}

static bool wait_for_port(struct server *server)
{
    static char log[65536];
    for (double end = now_s() + START_S; now_s() < end; sleep_s(0.05)) {
        bool ended = waitpid(server->pid, NULL, WNOHANG) == server->pid;
        slurp(server->log, log, sizeof log);
        const char *url = strstr(log, "listens on http://127.0.0.1:");
        if (url && sscanf(url, "listens on http://127.0.0.1:%u", &server->port) == 1)
            return true;
        if (ended)
            goto failed;
    }
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
failed:
    printf("the server did not come up:\n%s\n", log);
    return false;
}

/* The log, and the store that is used when the arguments do not name another. */
static void remove_files(const struct server *server)
{
    static const char *const suffixes[] = {"", STORE_SUFFIX, STORE_SUFFIX "-wal",
                                           STORE_SUFFIX "-shm", STORE_SUFFIX "-lock"};
    char path[sizeof server->log + 32];
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf(path, sizeof path, "%s%s", server->log, suffixes[i]);
        unlink(path);
    }
}

bool server_start(struct server *server, const char *program, const char *const *arguments)
{
    snprintf(server->log, sizeof server->log, "/tmp/kgrade-http-test.XXXXXX");
    int log = mkstemp(server->log);
    char store[sizeof server->log + sizeof STORE_SUFFIX];
    snprintf(store, sizeof store, "%s" STORE_SUFFIX, server->log);
    const char *argv[MAX_ARGUMENTS + 6] = {program, "--listen", "127.0.0.1:0", "--store", store};
    for (size_t i = 0; i < MAX_ARGUMENTS && arguments[i]; i++)
        argv[i + 5] = arguments[i];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, log, STDERR_FILENO);
    int failed = posix_spawn(&server->pid, program, &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(log);
    if (failed)
        printf("cannot start %s: %s\n", program, strerror(failed));
    if (!failed && wait_for_port(server))
        return true;
    remove_files(server);
    server->pid = 0;
    return false;
}

int server_stop(struct server *server)
{
    int status = -1;
    if (server->pid <= 0)
        return -1;
    kill(server->pid, SIGTERM);
    for (double end = now_s() + STOP_S; now_s() < end; sleep_s(0.02)) {
        if (waitpid(server->pid, &status, WNOHANG) == server->pid) {
            if (!WIFEXITED(status) || WEXITSTATUS(status)) {
                static char log[65536];
                slurp(server->log, log, sizeof log);
                printf("the server ended with status %#x:\n%s\n", (unsigned)status, log);
            }
            remove_files(server);
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        }
    }
    kill(server->pid, SIGKILL);
    waitpid(server->pid, &status, 0);
    return -1;
}

size_t server_memory(const struct server *server)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", server->pid);
    slurp(path, text, sizeof text);
    const char *line = strstr(text, "VmRSS:");
    unsigned long kib = 0;
    return line && sscanf(line, "VmRSS: %lu", &kib) == 1 ? kib * 1024 : 0;
}

bool server_is_sanitized(const struct server *server)
{
    static char text[1 << 20];
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", server->pid);
    slurp(path, text, sizeof text);
    return strstr(text, "libasan") || strstr(text, "libtsan") || strstr(text, "vgpreload");
}

static int connect_to(const struct server *server, int receive_bytes)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((in_port_t)server->port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd >= 0 && receive_bytes)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&a, sizeof a)) {
        close(fd);
        return -1;
    }
    return fd;
}

int try_dial(const struct server *server)
{
    return connect_to(server, 0);
}

int dial_narrow(const struct server *server, int receive_bytes)
{
    int fd = connect_to(server, receive_bytes);
    if (fd < 0) {
        printf("cannot connect to port %u: %s\n", server->port, strerror(errno));
        abort();
    }
    return fd;
}

int dial(const struct server *server)
{
    return dial_narrow(server, 0);
}

bool say_bytes(int fd, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = send(fd, (const char *)data + done, size - done, MSG_NOSIGNAL);
        if (n < 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

bool say(int fd, const char *text)
{
    return say_bytes(fd, text, strlen(text));
}

/* One byte; false at the end. */
static bool hear_byte(int fd, double end, char *ret, bool *ret_closed)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    double left = end - now_s();
    if (left <= 0 || poll(&p, 1, (int)(left * 1000) + 1) != 1)
        return false;
    *ret_closed = recv(fd, ret, 1, 0) != 1;
    return !*ret_closed;
}

void hear(int fd, double seconds, struct answer *ret)
{
    double end = now_s() + seconds;
    size_t n = 0;
    memset(ret, 0, sizeof *ret);
    while (n < sizeof ret->head - 1 && !strstr(ret->head + (n > 4 ? n - 4 : 0), "\r\n\r\n"))
        if (!hear_byte(fd, end, &ret->head[n++], &ret->closed))
            return;
    unsigned status = 0;
    const char *length = strcasestr(ret->head, "\r\nContent-Length:");
    size_t size = length ? strtoul(length + 17, NULL, 10) : 0;
    if (sscanf(ret->head, "HTTP/1.%*u %u", &status) != 1 || size >= sizeof ret->body)
        return;
    for (n = 0; n < size;)
        if (!hear_byte(fd, end, &ret->body[n++], &ret->closed))
            return;
    ret->status = status;
}

const char *answer_code(const struct answer *answer)
{
    static char code[64];
    const char *key = strstr(answer->body, "\"code\":\"");
    if (!key || sscanf(key, "\"code\":\"%63[a-z0-9_]\"", code) != 1)
        code[0] = 0;
    return code;
}
