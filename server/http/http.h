/*
 * The HTTP side of kgraded: a libmicrohttpd daemon with one thread, which reads, reads the store and
 * answers, and a thread that sees to the deadlines of connections.  A request that waits costs a
 * suspended connection and no thread.
 */
#ifndef KGRADED_HTTP_H
#define KGRADED_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "../access/access.h"
#include "../devices.h"
#include "../jobs/jobs.h"
#include "../metrics.h"
#include "../options.h"
#include "../store/store.h"
#include "kgrade/kgrade.h"

struct http;

/* All of it must outlive the server. */
struct http_parts {
    kgrade *engine;
    struct store *store;
    struct jobs *jobs;
    struct access *access;
    struct metrics *metrics;
    struct devices *devices;
    const struct server_options *options; /* those that a reload may change are not read */
};

/* Serves on listen_fd, which it takes over, also on failure.  Errors: `out_of_memory`,
 * `thread_failed`, `http_failed`. */
int http_start(int listen_fd, const struct http_parts *parts, struct http **ret, kgrade_error *err);

/* Takes no more connections, and answers what still comes on open ones with `shutting_down`.  Who
 * waits for a job that will not begin is told where to ask for it later.  keep: the listening socket is
 * the service manager's as well, and who connects now waits for the next kgraded; else connecting is
 * refused. */
void http_quiesce(struct http *http, bool keep);

/* Ends all waiting: the answers say how far things are.  Then waits until every answer that is due
 * is sent; false when deadline came first. */
bool http_flush(struct http *http, uint64_t deadline);

/* Refuses half-sent requests, closes everything, frees.  False when requests are still waiting: then
 * nothing is freed. */
bool http_stop(struct http *http);

#endif
