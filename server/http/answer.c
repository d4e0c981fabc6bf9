#define _GNU_SOURCE
#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/fail.h"
#include "problem.h"
#include "routes.h"

/* The library keeps so much of a stream at a time. */
#define STREAM_BLOCK 4096

int answer_no_memory(kgrade_error *err)
{
    return fail(err, "out_of_memory", "Send the request again later.",
                "There was no memory for the request.");
}

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    /* Fails only without memory, and then the answer is still right. */
    (void)MHD_add_response_header(response, name, value);
}

static void add_headers(const struct request *r, struct MHD_Response *response, const char *type)
{
    add_header(response, "Content-Type", type);
    add_header(response, "Cache-Control", "no-store");
    add_header(response, "X-Content-Type-Options", "nosniff");
    if (*r->location)
        add_header(response, "Location", r->location);
    if (*r->timing)
        add_header(response, "Server-Timing", r->timing);
    if (r->reused)
        add_header(response, "Kgrade-Reused", "true");
    if (r->status == 401)
        add_header(response, "WWW-Authenticate", "Bearer realm=\"kgrade\"");
    if (r->status == 405) {
        char allow[ROUTE_ALLOW_SIZE];
        add_header(response, "Allow", route_allow(r->route, allow));
    }
    unsigned retry_after = r->retry_after;
    if (!retry_after && (r->status == 429 || r->status == 503))
        retry_after = jobs_estimate_s(r->context->jobs);
    if (retry_after) {
        char seconds[16];
        snprintf(seconds, sizeof seconds, "%u", retry_after);
        add_header(response, "Retry-After", seconds);
    }
    if (atomic_load(&r->context->draining))
        add_header(response, "Connection", "close");
}

static enum MHD_Result queue(struct request *r, const char *type, struct MHD_Response *response)
{
    if (!response)
        return MHD_NO;
    add_headers(r, response, type);
    enum MHD_Result queued = MHD_queue_response(r->mhd, r->status, response);
    MHD_destroy_response(response);
    return queued;
}

enum MHD_Result answer_text(struct request *r, unsigned status, const char *type, char *text)
{
    r->status = status;
    if (!text || !connection_answer(r->connection)) {
        free(text);
        return MHD_NO;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    if (!response)
        free(text);
    return queue(r, type, response);
}

enum MHD_Result answer_static(struct request *r, unsigned status, const char *type,
                              const void *text, size_t size)
{
    r->status = status;
    if (!connection_answer(r->connection))
        return MHD_NO;
    return queue(
        r, type,
        MHD_create_response_from_buffer(size, (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT));
}

enum MHD_Result answer_json(struct request *r, unsigned status, json_t *json)
{
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    return answer_text(r, status, ANSWER_JSON, text);
}

enum MHD_Result answer_problem(struct request *r, const kgrade_error *problem)
{
    snprintf(r->outcome, sizeof r->outcome, "%s", problem->code);
    return answer_text(r, problem_status(problem->code), PROBLEM_CONTENT_TYPE,
                       problem_json(problem));
}

enum MHD_Result answer_stream(struct request *r, const char *type, MHD_ContentReaderCallback reader)
{
    r->status = 200;
    if (!connection_answer(r->connection))
        return MHD_NO;
    return queue(
        r, type,
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, reader, r, NULL));
}
