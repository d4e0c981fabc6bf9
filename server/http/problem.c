#define _GNU_SOURCE
#include "problem.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct problem {
    const char *code;
    unsigned status;
    const char *title;
} problems[] = {
    {"malformed_json", 400, "The body is not JSON"},
    {"duplicate_key", 400, "A key occurs twice in one object"},
    {"json_too_deep", 400, "The JSON is nested too deeply"},
    {"not_utf8", 400, "The body is not UTF-8"},
    {"nul_in_string", 400, "A string holds a NUL character"},
    {"unauthorized", 401, "The request needs a valid token"},
    {"forbidden", 403, "The token does not give this right"},
    {"not_found", 404, "No such path"},
    {"unknown_task", 404, "No such task"},
    {"unknown_grade", 404, "No such grade"},
    {"method_not_allowed", 405, "The path does not have this method"},
    {"request_timeout", 408, "The request did not arrive in time"},
    {"already_done", 409, "The grade is done"},
    {"cancelled", 409, "The grade was cancelled"},
    {"body_too_large", 413, "The body is too large"},
    {"source_too_large", 413, "The source is too large"},
    {"unsupported_media_type", 415, "The body is not declared as JSON"},
    {"unknown_field", 422, "A field is not known"},
    {"missing_field", 422, "A field is missing"},
    {"wrong_type", 422, "A value has the wrong type"},
    {"out_of_range", 422, "A value is out of range"},
    {"unknown_parameter", 422, "A parameter is not known"},
    {"missing_parameter", 422, "A parameter is missing"},
    {"invalid_parameter", 422, "A parameter has a wrong value"},
    {"invalid_idempotency_key", 422, "The Idempotency-Key is not acceptable"},
    {"idempotency_key_reused", 422, "The Idempotency-Key came with another request before"},
    {"unknown_device", 422, "No such device"},
    {"unknown_language", 422, "The device does not take this language"},
    {"no_python", 422, "There is no interpreter for this language"},
    {"task_not_for_device", 422, "The task cannot be graded on this device"},
    {"empty_source", 422, "The source is empty"},
    {"source_not_utf8", 422, "The source is not UTF-8"},
    {"bad_bundle", 422, "The files cannot be taken"},
    {"no_source_file", 422, "There is nothing to compile"},
    {"rate_limited", 429, "Too many requests"},
    {"quota_exceeded", 429, "Too many grades of yours are waiting"},
    {"client_gone", 499, "The client went away"},
    {"queue_full", 503, "Too many grades are waiting"},
    {"too_busy", 503, "Too many requests are being received"},
    {"store_unavailable", 503, "The store cannot be written or read now"},
    {"shutting_down", 503, "The server is shutting down"},
    {"deadline_exceeded", 504, "The grade did not end before its deadline"},
    {"out_of_memory", 500, "There is not enough memory"},
};

static const struct problem *find(const char *code)
{
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        if (!strcmp(problems[i].code, code))
            return &problems[i];
    return NULL;
}

unsigned problem_status(const char *code)
{
    const struct problem *p = find(code);
    return p ? p->status : 500;
}

const char *problem_reason(unsigned status)
{
    switch (status) {
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 408:
        return "Request Timeout";
    case 409:
        return "Conflict";
    case 413:
        return "Content Too Large";
    case 415:
        return "Unsupported Media Type";
    case 422:
        return "Unprocessable Content";
    case 429:
        return "Too Many Requests";
    case 499:
        return "Client Closed Request";
    case 503:
        return "Service Unavailable";
    case 504:
        return "Gateway Timeout";
    default:
        return "Internal Server Error";
    }
}

/* How many bytes of text are one UTF-8 character; 0 when they are none. */
static size_t character_size(const char *text)
{
    unsigned char lead = (unsigned char)text[0];
    size_t size = lead < 0x80   ? 1
                  : lead < 0xc0 ? 0
                  : lead < 0xe0 ? 2
                  : lead < 0xf0 ? 3
                  : lead < 0xf8 ? 4
                                : 0;
    if (strnlen(text, size) < size)
        return 0;
    json_t *character = json_stringn(text, size);
    json_decref(character);
    return character ? size : 0;
}

/* Messages quote what clients sent, and quotations are cut at a fixed size, so there may be half
 * characters: each byte of them becomes a question mark. */
static json_t *string_of(const char *text)
{
    json_t *whole = json_string(text);
    char *copy = whole ? NULL : strdup(text);
    if (!copy)
        return whole;
    for (char *p = copy; *p;) {
        size_t size = character_size(p);
        if (!size)
            *p = '?';
        p += size ? size : 1;
    }
    json_t *mended = json_string(copy);
    free(copy);
    return mended;
}

json_t *problem_object(const kgrade_error *problem)
{
    const struct problem *p = find(problem->code);
    unsigned status = p ? p->status : 500;
    json_t *json = json_pack("{s:o*, s:s, s:i, s:o*, s:o*}", "type",
                             json_sprintf("urn:kgrade:problem:%s", problem->code), "title",
                             p ? p->title : problem_reason(status), "status", (int)status, "detail",
                             string_of(problem->message), "code", string_of(problem->code));
    if (json && problem->hint[0])
        json_object_set_new(json, "hint", string_of(problem->hint));
    return json;
}

char *problem_json(const kgrade_error *problem)
{
    json_auto_t *json = problem_object(problem);
    return json ? json_dumps(json, JSON_COMPACT) : NULL;
}
