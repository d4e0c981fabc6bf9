#define _GNU_SOURCE
#include "listen.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/fail.h"

#define ADDRESS_HINT "Give --listen an address and a port, such as 127.0.0.1:8710 or [::1]:8710."

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int parse_port(const char *text, const char *where, in_port_t *ret, kgrade_error *err)
{
    char *end = NULL;
    unsigned long port = strtoul(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end || port > 65535)
        return fail(err, "usage", ADDRESS_HINT, "'%.100s' has no port from 0 to 65535.", where);
    *ret = htons((in_port_t)port);
    return 0;
}

static int parse_address(const char *where, union address *ret, socklen_t *ret_size,
                         kgrade_error *err)
{
    char host[64] = "";
    const char *colon = strrchr(where, ':');
    size_t length = colon ? (size_t)(colon - where) : 0;
    bool bracketed = length > 2 && where[0] == '[' && where[length - 1] == ']';
    if (!colon || length >= sizeof host)
        return fail(err, "usage", ADDRESS_HINT, "'%.100s' is not an address and a port.", where);
    memcpy(host, where + (bracketed ? 1 : 0), length - (bracketed ? 2 : 0));
    if (!strcmp(host, "localhost"))
        strcpy(host, "127.0.0.1");

    union address a = {0};
    in_port_t port = 0;
    if (parse_port(colon + 1, where, &port, err))
        return -1;
    if (!bracketed && inet_pton(AF_INET, host, &a.v4.sin_addr) == 1) {
        a.v4.sin_family = AF_INET;
        a.v4.sin_port = port;
        *ret_size = sizeof a.v4;
    } else if (bracketed && inet_pton(AF_INET6, host, &a.v6.sin6_addr) == 1) {
        a.v6.sin6_family = AF_INET6;
        a.v6.sin6_port = port;
        *ret_size = sizeof a.v6;
    } else {
        return fail(err, "usage", ADDRESS_HINT, "'%.100s' is not an address and a port.", where);
    }
    *ret = a;
    return 0;
}

static bool is_loopback(const union address *a)
{
    if (a->any.sa_family == AF_INET)
        return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

static void write_url(int fd, char url[LISTEN_MAX_URL])
{
    union address a = {0};
    socklen_t size = sizeof a;
    char host[INET6_ADDRSTRLEN] = "";
    getsockname(fd, &a.any, &size);
    bool v4 = a.any.sa_family == AF_INET;
    inet_ntop(a.any.sa_family, v4 ? (void *)&a.v4.sin_addr : (void *)&a.v6.sin6_addr, host,
              sizeof host);
    snprintf(url, LISTEN_MAX_URL, v4 ? "http://%s:%u" : "http://[%s]:%u", host,
             ntohs(v4 ? a.v4.sin_port : a.v6.sin6_port));
}

int listen_tcp(const char *where, char ret_url[LISTEN_MAX_URL], kgrade_error *err)
{
    union address a;
    socklen_t size = 0;
    if (parse_address(where, &a, &size, err))
        return -1;
    if (!is_loopback(&a))
        return fail(err, "not_loopback",
                    "Listen on 127.0.0.1, on [::1] or on a Unix socket, and put an authenticating "
                    "proxy in front "
                    "of it to serve other machines.",
                    "kgraded does not listen on %.100s: it asks nobody who they are, so it serves "
                    "this machine only.",
                    where);

    cleanup_close int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
        bind(fd, &a.any, size) || listen(fd, LISTEN_BACKLOG))
        return fail_errno(err, "listen_failed",
                          "Another server may have the port; --listen takes a different one.",
                          "Cannot listen on %.100s", where);
    write_url(fd, ret_url);
    return steal_fd(&fd);
}

/* Whether path is a socket that refuses connections, as one does whose server is gone. */
static bool is_stale(const char *path, const struct sockaddr_un *address)
{
    struct stat st;
    if (lstat(path, &st) || !S_ISSOCK(st.st_mode))
        return false;
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 &&
           errno == ECONNREFUSED;
}

int listen_unix(const char *path, char ret_url[LISTEN_MAX_URL], kgrade_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!*path || strlen(path) >= sizeof address.sun_path)
        return fail(err, "usage", NULL, "The path of a Unix socket has 1 to %zu bytes.",
                    sizeof address.sun_path - 1);
    strcpy(address.sun_path, path);

    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && is_stale(path, &address))
        unlink(path);
    /* The mode is right from the first moment: a chmod would come after others could connect. */
    mode_t mask = umask(0117);
    int failed = fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address);
    umask(mask);
    if (failed)
        return fail_errno(err, "listen_failed",
                          "Another server may have the path; --unix takes a different one.",
                          "Cannot listen on %s", path);
    if (listen(fd, LISTEN_BACKLOG)) {
        fail_errno(err, "listen_failed", NULL, "Cannot listen on %s", path);
        unlink(path);
        return -1;
    }
    snprintf(ret_url, LISTEN_MAX_URL, "unix:%s", path);
    return steal_fd(&fd);
}
