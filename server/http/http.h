/*
 * The HTTP side of kgraded: a libmicrohttpd daemon with one thread of its own.  Reading and
 * answering is done by that thread; a request to grade is suspended while a thread of the queue
 * works on it.
 */
#ifndef KGRADED_HTTP_H
#define KGRADED_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "kgrade/kgrade.h"
#include "../options.h"
#include "../jobs/queue.h"

struct http;

/* Serves on listen_fd, which it takes over.  engine, queue and options must outlive it.  Errors:
 * `out_of_memory`, `http_failed`. */
int http_start(int listen_fd, kgrade *engine, struct queue *queue,
               const struct server_options *options, struct http **ret, kgrade_error *err);

/* Cuts what is overdue.  Returns when to call again, CLOCK_MONOTONIC ns. */
uint64_t http_enforce_deadlines(struct http *http);

/* Takes no more connections, and answers what still comes on open ones with `shutting_down`. */
void http_quiesce(struct http *http);

/* Waits until every answer that is due is sent.  All jobs must have been answered.  False when
 * deadline came first. */
bool http_flush(struct http *http, uint64_t deadline);

/* Refuses half-sent requests, closes everything, frees.  False when requests are still waiting for
 * their jobs: then nothing is freed. */
bool http_stop(struct http *http);

#endif
