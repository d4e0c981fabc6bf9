#define _GNU_SOURCE
#include "request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "body.h"
#include "../log.h"
#include "problem.h"

#define FIRST_BODY_BYTES 4096
#define LOGGED_METHOD 24
#define LOGGED_PATH 200

struct request {
    struct request_context *context;
    struct connection *connection;
    struct MHD_Connection *mhd;
    uint64_t began_ns;
    char method[LOGGED_METHOD]; /* in log form */
    char path[LOGGED_PATH];     /* in log form */
    bool has_nul;               /* %00 in the path, which ends the decoded one early */
    bool has_headers;

    const struct route *route;
    char *parameter;
    bool refused; /* the answer will be problem, whatever the body holds */
    kgrade_error problem;

    char *body;
    size_t body_size, body_room;
    size_t discarded;

    struct job *job;
    unsigned ahead;            /* jobs before ours when it was queued */
    char task[48], device[24]; /* in log form */

    unsigned status;
    char outcome[48]; /* a verdict or a code, for the log */
};

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

int request_has_headers(const struct request *r)
{
    return r->has_headers;
}

/* Answers. */

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    /* Fails only without memory, and then the answer is still right. */
    (void)MHD_add_response_header(response, name, value);
}

static void add_timing(const struct request *r, struct MHD_Response *response)
{
    const struct job_answer *a = job_answer(r->job);
    if (!a->started_ns)
        return;
    char timing[96];
    snprintf(timing, sizeof timing, "queue;dur=%.3f, grade;dur=%.3f",
             (double)(a->started_ns - a->queued_ns) / 1e6,
             (double)(a->ended_ns - a->started_ns) / 1e6);
    add_header(response, "Server-Timing", timing);
}

/* Takes over json, which may be NULL for want of memory. */
static enum MHD_Result send_json(struct request *r, unsigned status, const char *type, char *json)
{
    r->status = status;
    if (!json || !connection_answer(r->connection)) {
        free(json);
        return MHD_NO;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(json), json, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(json);
        return MHD_NO;
    }
    add_header(response, "Content-Type", type);
    add_header(response, "Cache-Control", "no-store");
    add_header(response, "X-Content-Type-Options", "nosniff");
    if (r->job)
        add_timing(r, response);
    if (status == 405)
        add_header(response, "Allow", route_allow(r->route));
    if (status == 503) {
        char seconds[16];
        snprintf(seconds, sizeof seconds, "%u", queue_estimate_s(r->context->routes.queue));
        add_header(response, "Retry-After", seconds);
    }
    if (atomic_load(&r->context->draining))
        add_header(response, "Connection", "close");
    enum MHD_Result queued = MHD_queue_response(r->mhd, status, response);
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result send_problem(struct request *r, const kgrade_error *problem)
{
    snprintf(r->outcome, sizeof r->outcome, "%s", problem->code);
    return send_json(r, problem_status(problem->code), PROBLEM_CONTENT_TYPE, problem_json(problem));
}

/* Headers. */

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
    const char *type = MHD_lookup_connection_value(r->mhd, MHD_HEADER_KIND, "Content-Type");
    const char *coding = MHD_lookup_connection_value(r->mhd, MHD_HEADER_KIND, "Content-Encoding");
    const char *length = MHD_lookup_connection_value(r->mhd, MHD_HEADER_KIND, "Content-Length");
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

static int check_headers(struct request *r, const char *path, const char *method, kgrade_error *err)
{
    const char *parameter = "";
    if (atomic_load(&r->context->draining))
        return fail(err, "shutting_down", "Send the request again when the server is back.",
                    "The server is shutting down.");
    if (r->has_nul)
        return fail(err, "not_found", "GET / lists the paths.", "No path holds %%00.");
    r->route = route_find(path, &parameter);
    if (!r->route)
        return fail(err, "not_found", "GET / lists the paths.", "There is no path '%.200s'.", path);
    r->parameter = strdup(parameter);
    if (!r->parameter)
        return fail(err, "out_of_memory", NULL, "There was no memory for the request.");
    bool head = !strcmp(method, "HEAD") && !strcmp(r->route->method, "GET");
    if (!head && strcmp(method, r->route->method))
        return fail(err, "method_not_allowed", "GET / lists the paths with their methods.",
                    "%s takes %s, not '%.40s'.", r->route->path, route_allow(r->route), method);
    return r->route->answer ? 0 : check_body_headers(r, err);
}

enum MHD_Result request_headers(struct request *r, const char *path, const char *method)
{
    r->has_headers = true;
    log_field(r->method, sizeof r->method, method);
    if (!check_headers(r, path, method, &r->problem))
        return MHD_YES;
    r->refused = true;
    /* A client that waits to be told to go on gets its answer instead.  Others are sending already:
     * were they answered now, the connection would be reset under them and might take the answer
     * along, so what they send is read first. */
    const char *expect = MHD_lookup_connection_value(r->mhd, MHD_HEADER_KIND, "Expect");
    if (expect && !strcasecmp(expect, "100-continue"))
        return send_problem(r, &r->problem);
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
        return fail(err, "out_of_memory", NULL, "There was no memory for the body.");
    }
    r->body = body;
    r->body_room = room;
    return 0;
}

enum MHD_Result request_body(struct request *r, const char *data, size_t size)
{
    if (!r->refused && !r->route->answer) {
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

/* Grading. */

static void request_answered(void *owner)
{
    struct request *r = owner;
    MHD_resume_connection(r->mhd);
}

static bool request_is_abandoned(void *owner)
{
    const struct request *r = owner;
    return connection_is_gone(r->connection);
}

static const struct job_events job_events = {request_answered, request_is_abandoned};

static int make_job(struct request *r, kgrade_error *err)
{
    json_auto_t *root = body_parse(r->body, r->body_size, err);
    free(steal_pointer(&r->body)); /* stays charged: the parsed strings are about as large */
    kgrade_request grade;
    if (!root || body_grade_request(root, &grade, err))
        return -1;
    log_field(r->task, sizeof r->task, grade.task);
    log_field(r->device, sizeof r->device, grade.device);
    if (kgrade_check_request(r->context->routes.engine, &grade, err))
        return -1;
    r->job = job_new(json_incref(root), &grade, &job_events, r);
    return r->job ? 0 : fail(err, "out_of_memory", NULL, "There was no memory for the grade.");
}

static enum MHD_Result begin_grade(struct request *r)
{
    if (make_job(r, &r->problem))
        return send_problem(r, &r->problem);
    if (!connection_wait(r->connection))
        return MHD_NO;
    /* First asleep, then in the queue: the other way round it might be woken before it sleeps. */
    MHD_suspend_connection(r->mhd);
    if (queue_submit(r->context->routes.queue, r->job, &r->ahead, &r->problem)) {
        job_free(steal_pointer(&r->job));
        r->refused = true;
        MHD_resume_connection(r->mhd);
    }
    return MHD_YES;
}

static enum MHD_Result end_grade(struct request *r)
{
    const struct job_answer *a = job_answer(r->job);
    if (!a->json)
        return send_problem(r, &a->error);
    snprintf(r->outcome, sizeof r->outcome, "%s", kgrade_verdict_name(a->verdict));
    return send_json(r, 200, "application/json", strdup(a->json));
}

enum MHD_Result request_whole(struct request *r)
{
    if (r->refused)
        return send_problem(r, &r->problem);
    if (r->job)
        return end_grade(r);
    if (!r->route->answer)
        return begin_grade(r);
    char *json = NULL;
    if (r->route->answer(&r->context->routes, r->parameter, &json, &r->problem))
        return send_problem(r, &r->problem);
    snprintf(r->outcome, sizeof r->outcome, "ok");
    return send_json(r, 200, "application/json", json);
}

/* The end. */

static void log_request(struct request *r, enum MHD_RequestTerminationCode how)
{
    char refusal[48];
    unsigned refused = connection_refusal(r->connection, refusal);
    const union MHD_ConnectionInfo *sent =
        MHD_get_connection_info(r->mhd, MHD_CONNECTION_INFO_HTTP_STATUS);
    unsigned status = r->status;
    const char *outcome = r->outcome;
    if (refused) {
        status = refused;
        outcome = refusal;
    } else if (!status && sent) {
        status = sent->http_status;
        outcome = "bad_http";
    }
    if (how != MHD_REQUEST_TERMINATED_COMPLETED_OK && !refused)
        outcome = *outcome ? outcome : "not_received";

    char grade[256] = "";
    if (r->job) {
        const struct job_answer *a = job_answer(r->job);
        snprintf(grade, sizeof grade,
                 " task=%s device=%s score=%.6g ahead=%u queued_ms=%.1f graded_ms=%.1f", r->task,
                 r->device, a->json ? a->score : 0, r->ahead,
                 (double)((a->started_ns ? a->started_ns : a->ended_ns) - a->queued_ns) / 1e6,
                 a->started_ns ? (double)(a->ended_ns - a->started_ns) / 1e6 : 0);
    }
    log_line(LOG_LEVEL_INFO, "request method=%s path=%s status=%u ms=%.1f %s=%s%s%s", r->method,
             r->path, status, (double)(io_now() - r->began_ns) / 1e6,
             r->job && job_answer(r->job)->json ? "verdict" : "code", *outcome ? outcome : "-",
             grade,
             how == MHD_REQUEST_TERMINATED_COMPLETED_OK || refused ? "" : " sent=incomplete");
}

void request_end(struct request *r, enum MHD_RequestTerminationCode how)
{
    log_request(r, how);
    connection_next(r->connection);
    job_free(r->job);
    drop_body(r);
    free(r->parameter);
    free(r);
}
