/*
 * One request, from its first line to the log line about it.
 *
 * Everything of a request happens in the library's thread.  What it waits for calls connection_wake
 * from threads of its own, and the library then calls back: request_whole, or the reader of an
 * answer in pieces.
 */
#ifndef KGRADED_REQUEST_H
#define KGRADED_REQUEST_H

#include <jansson.h>
#include <microhttpd.h>
#include <stdatomic.h>
#include <stddef.h>

#include "../access/access.h"
#include "../jobs/jobs.h"
#include "../metrics.h"
#include "../options.h"
#include "connection.h"
#include "kgrade/kgrade.h"

struct route;

/* What all requests share. */
struct request_context {
    kgrade *engine;
    struct store *store;
    struct jobs *jobs;
    struct access *access;
    struct metrics *metrics;
    struct devices *devices;
    struct connections *connections;
    const struct server_options *options;
    atomic_bool draining;   /* refuse everything, wait for nothing that will not begin */
    atomic_size_t buffered; /* bytes of bodies held by all requests */
};

#define REQUEST_METHOD_SIZE 24
#define REQUEST_PATH_SIZE 200

/* For the parts of this folder. */
struct request {
    struct request_context *context;
    struct connection *connection;
    struct MHD_Connection *mhd;
    uint64_t began_ns;
    char method[REQUEST_METHOD_SIZE]; /* in log form */
    char path[REQUEST_PATH_SIZE];     /* in log form */
    bool has_nul;                     /* %00 in the path, which ends the decoded one early */
    bool has_headers, whole;
    bool interim; /* it is HTTP/1.1: an interim answer may be sent */

    const struct route *route;
    char *parameter; /* what stands for {...} in the path */
    struct access_caller caller;
    bool identified;
    bool refused; /* the answer will be problem, whatever the body holds */
    kgrade_error problem;

    char *body;
    size_t body_size, body_room;
    size_t discarded;

    struct job *job;
    struct job_view view;    /* of the job when it was last looked at */
    struct job_watch *watch; /* wakes the connection */
    uint64_t wait_until;     /* when it stops waiting for the job */
    void *state;             /* of the part that serves it */
    void (*free_state)(void *state);

    /* Of the answer. */
    char location[48];    /* "": none */
    unsigned retry_after; /* seconds; 0: as the status demands */
    bool reused;          /* the grade was there before it was asked for */
    char timing[96];      /* Server-Timing; "": none */
    unsigned status;
    char outcome[48]; /* a verdict or a code, for the log */
    bool is_verdict;
};

/* uri as the client sent it; NULL without memory. */
struct request *request_new(struct request_context *context, struct connection *connection,
                            struct MHD_Connection *mhd, const char *uri);

/* The headers are here: decides what can be decided before the body. */
enum MHD_Result request_headers(struct request *request, const char *path, const char *method,
                                const char *version);
/* Some of the body is here. */
enum MHD_Result request_body(struct request *request, const char *data, size_t size);
/* All of the body is here, or what the request waits for has changed: answers or sleeps. */
enum MHD_Result request_whole(struct request *request);

/* Logs and frees. */
void request_end(struct request *request, enum MHD_RequestTerminationCode how);

/* Parses the body, which is then gone.  A new reference; NULL with the errors of body_parse. */
json_t *request_take_body(struct request *request, kgrade_error *err);

/* For job_watch: wakes the request that data is. */
void request_changed(void *data);

/* Has every change of request->job wake the request. */
int request_watch(struct request *request, kgrade_error *err);

/* The client is gone: ends the connection. */
enum MHD_Result request_abandon(struct request *request);

#endif
