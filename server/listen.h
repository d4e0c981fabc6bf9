/* The socket that kgraded listens on. */
#ifndef KGRADED_LISTEN_H
#define KGRADED_LISTEN_H

#include <stdbool.h>
#include <sys/un.h>

#include "../sandbox/base/error.h"
#include "options.h"

#define LISTEN_MAX_URL 160
#define LISTEN_BACKLOG 512

struct listener {
    int fd;                   /* non-blocking; whoever serves on it takes it and sets -1 */
    bool adopted;             /* others have it open as well and go on listening */
    char url[LISTEN_MAX_URL]; /* "http://127.0.0.1:8710" or "unix:/run/kgraded/kgraded.sock" */
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* to be unlinked; "": nothing */
};

/* Opens what the options say, or takes the one socket that the service manager has passed, which
 * options that name a listener exclude.  anyone: callers are asked who they are, so that it may listen
 * beyond loopback.  Errors: `usage` (not an address), `not_loopback`, `activation_failed`,
 * `listen_failed`. */
int listener_open(const struct server_options *o, bool anyone, struct listener *ret,
                  kgrade_error *err);

/* Closes what is still open and unlinks the path. */
void listener_close(struct listener *listener);

/* Listens on ADDR:PORT, where ADDR is an IPv4 address, an IPv6 address in brackets or localhost, and
 * PORT may be 0 for any free one.  Errors: `usage`, `not_loopback` (and not `anyone`),
 * `listen_failed`. */
int listen_tcp(const char *where, bool anyone, struct listener *ret, kgrade_error *err);

/* Listens on a Unix socket that owner and group may use; takes the place of a socket that nobody
 * listens on any more, and of nothing else.  Errors: `usage`, `listen_failed`. */
int listen_unix(const char *path, struct listener *ret, kgrade_error *err);

/* Takes over a listening socket, which stays open on failure.  Errors: `not_loopback`,
 * `activation_failed` (it is none). */
int listen_adopt(int fd, bool anyone, struct listener *ret, kgrade_error *err);

#endif
