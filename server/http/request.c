#define _GNU_SOURCE
#include "request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "../log.h"
#include "answer.h"
#include "body.h"
#include "problem.h"
#include "query.h"
#include "routes.h"
#include "view.h"

#define FIRST_BODY_BYTES 4096

struct request *request_new(struct request_context *context, struct connection *connection,
                            struct MHD_Connection *mhd, const char *uri)
{
    struct request *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->context = context;
    r->connection = connection;
    r->mhd = mhd;
    r->began_ns = io_now();
    r->has_nul = strstr(uri, "%00");
    log_field(r->method, sizeof r->method, NULL);
    log_field(r->path, sizeof r->path, uri);
    return r;
}

/* Headers. */

static const char *header(const struct request *r, const char *name)
{
    return MHD_lookup_connection_value(r->mhd, MHD_HEADER_KIND, name);
}

static bool is_json_type(const char *type)
{
    static const char json[] = "application/json";
    if (strncasecmp(type, json, sizeof json - 1))
        return false;
    const char *rest = type + sizeof json - 1;
    return *rest == 0 || *rest == ';' || *rest == ' ' || *rest == '\t';
}

static int check_body_headers(const struct request *r, kgrade_error *err)
{
    const char *type = header(r, "Content-Type");
    const char *coding = header(r, "Content-Encoding");
    const char *length = header(r, "Content-Length");
    if (type && !is_json_type(type))
        return fail(
            err, "unsupported_media_type", "Send the header Content-Type: application/json.",
            "The body is declared as '%.100s'; %s takes application/json.", type, r->route->path);
    if (coding && strcasecmp(coding, "identity"))
        return fail(err, "unsupported_media_type",
                    "Send the body as it is, without Content-Encoding.",
                    "The body is declared as encoded with '%.100s'; %s takes it plain.", coding,
                    r->route->path);
    if (length && strtoull(length, NULL, 10) > r->context->options->max_body)
        return fail(err, "body_too_large", "Send a smaller source.",
                    "The body has %.20s bytes; at most %zu are taken.", length,
                    r->context->options->max_body);
    return 0;
}

static int find_route(struct request *r, const char *path, const char *method, kgrade_error *err)
{
    const char *parameter;
    size_t size;
    const struct route *other;
    if (r->has_nul)
        return fail(err, "not_found", "GET / lists the paths.", "No path holds %%00.");
    r->route = route_find(path, method, &parameter, &size, &other);
    if (r->route) {
        r->parameter = strndup(parameter, size);
        return r->parameter ? 0 : answer_no_memory(err);
    }
    r->route = other;
    if (!other)
        return fail(err, "not_found", "GET / lists the paths.", "There is no path '%.200s'.", path);
    char allow[ROUTE_ALLOW_SIZE];
    return fail(err, "method_not_allowed", "GET / lists the paths with their methods.",
                "%s takes %s, not '%.40s'.", other->path, route_allow(other, allow), method);
}

static int identify(struct request *r, kgrade_error *err)
{
    if (access_identify(r->context->access, header(r, "Authorization"),
                        connection_peer(r->connection), &r->caller, err))
        return -1;
    r->identified = true;
    return 0;
}

static int check_headers(struct request *r, const char *path, const char *method, kgrade_error *err)
{
    if (atomic_load(&r->context->draining))
        return fail(err, "shutting_down", "Send the request again when the server is back.",
                    "The server is shutting down.");
    if (find_route(r, path, method, err) || (!(r->route->flags & ROUTE_OPEN) && identify(r, err)) ||
        query_check(r, err))
        return -1;
    return r->route->flags & ROUTE_BODY ? check_body_headers(r, err) : 0;
}

enum MHD_Result request_headers(struct request *r, const char *path, const char *method,
                                const char *version)
{
    r->has_headers = true;
    r->interim = !strcmp(version, MHD_HTTP_VERSION_1_1);
    log_field(r->method, sizeof r->method, method);
    if (!check_headers(r, path, method, &r->problem))
        return MHD_YES;
    r->refused = true;
    /* A client that waits to be told to go on gets its answer instead.  Others are sending already:
     * were they answered now, the connection would be reset under them and might take the answer
     * along, so what they send is read first. */
    const char *expect = header(r, "Expect");
    if (expect && !strcasecmp(expect, "100-continue"))
        return answer_problem(r, &r->problem);
    return MHD_YES;
}

/* The body. */

static void drop_body(struct request *r)
{
    atomic_fetch_sub(&r->context->buffered, r->body_room);
    free(r->body);
    r->body = NULL;
    r->body_size = r->body_room = 0;
}

static int make_room(struct request *r, size_t size, kgrade_error *err)
{
    const struct server_options *o = r->context->options;
    if (size > o->max_body - r->body_size)
        return fail(err, "body_too_large", "Send a smaller source.",
                    "The body has more than %zu bytes.", o->max_body);
    size_t need = r->body_size + size;
    if (need <= r->body_room)
        return 0;
    size_t room = r->body_room ? r->body_room : FIRST_BODY_BYTES;
    while (room < need)
        room *= 2;
    if (room > o->max_body)
        room = o->max_body;
    size_t more = room - r->body_room;
    if (atomic_fetch_add(&r->context->buffered, more) + more > o->max_buffered) {
        atomic_fetch_sub(&r->context->buffered, more);
        return fail(
            err, "too_busy", "Send the request again after the seconds that Retry-After gives.",
            "The bodies of all requests together have more than %zu bytes.", o->max_buffered);
    }
    char *body = realloc(r->body, room);
    if (!body) {
        atomic_fetch_sub(&r->context->buffered, more);
        return answer_no_memory(err);
    }
    r->body = body;
    r->body_room = room;
    return 0;
}

enum MHD_Result request_body(struct request *r, const char *data, size_t size)
{
    if (!r->refused && r->route->flags & ROUTE_BODY) {
        if (make_room(r, size, &r->problem)) {
            r->refused = true;
            drop_body(r);
        } else {
            memcpy(r->body + r->body_size, data, size);
            r->body_size += size;
            return MHD_YES;
        }
    }
    /* Nobody will look at these bytes.  They are read out of politeness, and that has an end. */
    r->discarded += size;
    if (r->discarded > r->context->options->max_body) {
        if (!r->refused)
            fail(&r->problem, "body_too_large", "Send no body.",
                 "The body has more than %zu bytes.", r->context->options->max_body);
        connection_refuse(r->connection, &r->problem);
    }
    return MHD_YES;
}

json_t *request_take_body(struct request *r, kgrade_error *err)
{
    json_t *root = body_parse(r->body, r->body_size, err);
    drop_body(r);
    return root;
}

/* The job. */

void request_changed(void *data)
{
    struct request *r = data;
    connection_wake(r->connection);
}

int request_watch(struct request *r, kgrade_error *err)
{
    r->watch = job_watch(r->job, request_changed, r);
    return r->watch ? 0 : answer_no_memory(err);
}

enum MHD_Result request_whole(struct request *r)
{
    r->whole = true;
    return r->refused ? answer_problem(r, &r->problem) : r->route->serve(r);
}

enum MHD_Result request_abandon(struct request *r)
{
    snprintf(r->outcome, sizeof r->outcome, "client_gone");
    r->status = problem_status(r->outcome);
    return MHD_NO;
}

/* The end. */

static void describe_job(const struct request *r, char *text, size_t size)
{
    const struct job_view *v = &r->view;
    char task[48], device[24];
    int n = snprintf(text, size, " grade=%s task=%s device=%s state=%s", v->id,
                     log_field(task, sizeof task, v->task),
                     log_field(device, sizeof device, v->device), view_state_name(v->state));
    if (v->state == JOB_DONE && n > 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, " score=%.6g queued_ms=%lld graded_ms=%lld%s",
                 v->score, (long long)(v->started_ms - v->created_ms),
                 (long long)(v->ended_ms - v->started_ms), v->reused ? " reused=true" : "");
}

/* What the client got: the status, and the code or verdict or how it failed. */
static unsigned outcome(struct request *r, enum MHD_RequestTerminationCode how)
{
    char refusal[48];
    unsigned refused = connection_refusal(r->connection, refusal);
    const union MHD_ConnectionInfo *sent =
        MHD_get_connection_info(r->mhd, MHD_CONNECTION_INFO_HTTP_STATUS);
    if (refused) {
        memcpy(r->outcome, refusal, sizeof r->outcome);
        return refused;
    }
    if (!r->status && sent) {
        snprintf(r->outcome, sizeof r->outcome, "bad_http");
        return sent->http_status;
    }
    if (how != MHD_REQUEST_TERMINATED_COMPLETED_OK && !*r->outcome && r->whole)
        request_abandon(r); /* the library saw the end of the client first */
    else if (how != MHD_REQUEST_TERMINATED_COMPLETED_OK && !*r->outcome)
        snprintf(r->outcome, sizeof r->outcome, "not_received");
    return r->status;
}

static void log_request(struct request *r, enum MHD_RequestTerminationCode how)
{
    char refusal[48], job[256] = "", caller[ACCESS_NAME_SIZE];
    unsigned status = outcome(r, how);
    double seconds = (double)(io_now() - r->began_ns) / (double)IO_NS_PER_S;
    bool complete =
        how == MHD_REQUEST_TERMINATED_COMPLETED_OK || connection_refusal(r->connection, refusal);
    if (r->job && r->view.id)
        describe_job(r, job, sizeof job);
    log_line(LOG_LEVEL_INFO, "request method=%s path=%s status=%u ms=%.1f %s=%s caller=%s%s%s",
             r->method, r->path, status, seconds * 1e3, r->is_verdict ? "verdict" : "code",
             *r->outcome ? r->outcome : "-",
             log_field(caller, sizeof caller, r->identified ? r->caller.name : NULL), job,
             complete ? "" : " sent=incomplete");
    metrics_request(r->context->metrics, r->route ? r->route->path : "other", status, seconds);
}

void request_end(struct request *r, enum MHD_RequestTerminationCode how)
{
    log_request(r, how);
    connection_next(r->connection);
    job_unwatch(r->watch);
    job_release(r->job);
    if (r->free_state)
        r->free_state(r->state);
    drop_body(r);
    free(r->parameter);
    free(r);
}
