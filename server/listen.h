/* The socket that kgraded listens on. */
#ifndef KGRADED_LISTEN_H
#define KGRADED_LISTEN_H

#include "../sandbox/base/error.h"

#define LISTEN_MAX_URL 160
#define LISTEN_BACKLOG 512

/* Listens on ADDR:PORT, where ADDR is an IPv4 loopback address, [::1] or localhost, and PORT may be
 * 0 for any free one.  Returns a non-blocking descriptor and writes the address that came of it,
 * "http://127.0.0.1:8710". Errors: `usage` (not an address), `not_loopback`, `listen_failed`. */
int listen_tcp(const char *where, char ret_url[LISTEN_MAX_URL], kgrade_error *err);

/* Listens on a Unix socket that owner and group may use; takes the place of a socket that nobody
 * listens on any more, and of nothing else.  The caller unlinks it.  Errors: `usage`,
 * `listen_failed`. */
int listen_unix(const char *path, char ret_url[LISTEN_MAX_URL], kgrade_error *err);

#endif
