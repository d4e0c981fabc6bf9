#define _GNU_SOURCE
#include "listen.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/fail.h"
#include "activation.h"
#include "log.h"
#include "places.h"

#define ADDRESS_HINT "Give --listen an address and a port, such as 127.0.0.1:8710 or [::1]:8710."

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
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

static void write_url(const union address *a, char url[LISTEN_MAX_URL])
{
    char host[INET6_ADDRSTRLEN] = "";
    bool v4 = a->any.sa_family == AF_INET;
    inet_ntop(a->any.sa_family, v4 ? (const void *)&a->v4.sin_addr : &a->v6.sin6_addr, host,
              sizeof host);
    snprintf(url, LISTEN_MAX_URL, v4 ? "http://%s:%u" : "http://[%s]:%u", host,
             ntohs(v4 ? a->v4.sin_port : a->v6.sin6_port));
}

static int check_reach(const union address *a, bool anyone, kgrade_error *err)
{
    if (is_loopback(a))
        return 0;
    char url[LISTEN_MAX_URL];
    write_url(a, url);
    if (!anyone)
        return fail(err, "not_loopback",
                    "Name a token file with --tokens, or listen on 127.0.0.1, [::1] or a Unix "
                    "socket.",
                    "kgraded does not listen on %s without tokens: everybody who can reach it "
                    "would be served.",
                    url);
    log_line(LOG_LEVEL_WARNING,
             "%s is beyond loopback: tokens and sources cross the network as they are, so let a "
             "proxy with TLS stand in front",
             url);
    return 0;
}

int listen_tcp(const char *where, bool anyone, struct listener *ret, kgrade_error *err)
{
    union address a;
    socklen_t size = 0;
    if (parse_address(where, &a, &size, err) || check_reach(&a, anyone, err))
        return -1;

    cleanup_close int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
        bind(fd, &a.any, size) || listen(fd, LISTEN_BACKLOG) || getsockname(fd, &a.any, &size))
        return fail_errno(err, "listen_failed",
                          "Another server may have the port; --listen takes a different one.",
                          "Cannot listen on %.100s", where);
    write_url(&a, ret->url);
    ret->path[0] = 0;
    ret->adopted = false;
    ret->fd = steal_fd(&fd);
    return 0;
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

int listen_unix(const char *path, struct listener *ret, kgrade_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!*path || strlen(path) >= sizeof address.sun_path)
        return fail(err, "usage", "--unix takes a different path.",
                    "The path of a Unix socket has 1 to %zu bytes.", sizeof address.sun_path - 1);
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
    snprintf(ret->url, sizeof ret->url, "unix:%s", path);
    strcpy(ret->path, path);
    ret->adopted = false;
    ret->fd = steal_fd(&fd);
    return 0;
}

static bool has_option(int fd, int option, int expected)
{
    int value = 0;
    socklen_t size = sizeof value;
    return !getsockopt(fd, SOL_SOCKET, option, &value, &size) && value == expected;
}

int listen_adopt(int fd, bool anyone, struct listener *ret, kgrade_error *err)
{
    union address a = {0};
    socklen_t size = sizeof a;
    if (!has_option(fd, SO_TYPE, SOCK_STREAM) || !has_option(fd, SO_ACCEPTCONN, 1) ||
        getsockname(fd, &a.any, &size))
        return fail(err, "activation_failed",
                    "The socket unit needs one ListenStream= and no "
                    "Accept=yes.",
                    "Descriptor %d, which the service manager has passed, is no listening stream "
                    "socket.",
                    fd);
    char url[LISTEN_MAX_URL] = "";
    if (a.any.sa_family == AF_UNIX) {
        int length = (int)(size - offsetof(struct sockaddr_un, sun_path));
        snprintf(url, sizeof url, "unix:%s%.*s", a.local.sun_path[0] ? "" : "@", length,
                 a.local.sun_path + (a.local.sun_path[0] ? 0 : 1));
    } else if (a.any.sa_family == AF_INET || a.any.sa_family == AF_INET6) {
        if (check_reach(&a, anyone, err))
            return -1;
        write_url(&a, url);
    } else {
        return fail(err, "activation_failed", "kgraded serves on TCP and Unix sockets.",
                    "Descriptor %d, which the service manager has passed, is neither.", fd);
    }
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
        return fail_errno(err, "activation_failed", NULL, "Cannot set up descriptor %d", fd);
    strcpy(ret->url, url);
    ret->path[0] = 0;
    ret->adopted = true;
    ret->fd = fd;
    return 0;
}

int listener_open(const struct server_options *o, bool anyone, struct listener *ret,
                  kgrade_error *err)
{
    int fd = activation_socket(err);
    if (fd == -1)
        return -1;
    if (fd >= 0 && !o->default_listener)
        return fail(err, "activation_failed",
                    "Take listen and unix out of the settings, or disable the socket unit.",
                    "The service manager has passed a socket, and %s names another one.",
                    o->listen ? o->listen : o->unix_path);
    if (fd >= 0)
        return listen_adopt(fd, anyone, ret, err);
    if (o->listen)
        return listen_tcp(o->listen, anyone, ret, err);
    if (o->default_listener && places_make_parent(o->unix_path, true, err))
        return -1;
    return listen_unix(o->unix_path, ret, err);
}

void listener_close(struct listener *listener)
{
    if (listener->fd >= 0)
        close(listener->fd);
    listener->fd = -1;
    if (listener->path[0])
        unlink(listener->path);
    listener->path[0] = 0;
}
