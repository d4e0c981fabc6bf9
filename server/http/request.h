/*
 * One request, from its first line to the log line about it.
 *
 * The HTTP thread calls everything here; only request_answered and request_is_abandoned (the events
 * of the job) come from the queue.
 */
#ifndef KGRADED_REQUEST_H
#define KGRADED_REQUEST_H

#include <microhttpd.h>
#include <stdatomic.h>
#include <stddef.h>

#include "connection.h"
#include "../options.h"
#include "routes.h"

/* What all requests share. */
struct request_context {
    struct route_context routes;
    const struct server_options *options;
    atomic_bool draining;   /* refuse everything */
    atomic_size_t buffered; /* bytes of bodies held by all requests */
};

struct request;

/* uri as the client sent it; NULL without memory. */
struct request *request_new(struct request_context *context, struct connection *connection,
                            struct MHD_Connection *mhd, const char *uri);

/* The headers are here: decides what can be decided before the body. */
enum MHD_Result request_headers(struct request *request, const char *path, const char *method);
/* Some of the body is here. */
enum MHD_Result request_body(struct request *request, const char *data, size_t size);
/* All of the body is here, or the job is answered: answers or suspends. */
enum MHD_Result request_whole(struct request *request);

/* Logs and frees. */
void request_end(struct request *request, enum MHD_RequestTerminationCode how);

/* Whether request_headers has been called. */
int request_has_headers(const struct request *request);

#endif
