#include "routes.h"

#include <jansson.h>
#include <microhttpd.h>
#include <string.h>

#include "../../sandbox/base/fail.h"

/* Takes over json. */
static int dump(json_t *json, char **ret, kgrade_error *err)
{
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    if (!text)
        return fail(err, "out_of_memory", NULL, "There was no memory for the answer.");
    *ret = text;
    return 0;
}

static int answer_index(const struct route_context *context, const char *parameter, char **ret,
                        kgrade_error *err)
{
    (void)context;
    (void)parameter;
    json_t *endpoints = json_array();
    for (const struct route *r = routes; r->method; r++)
        json_array_append_new(endpoints, json_pack("{s:s, s:s, s:s}", "method", r->method, "path",
                                                   r->path, "summary", r->summary));
    return dump(json_pack("{s:s, s:s, s:o}", "name", "kgraded", "version", kgrade_version(),
                          "endpoints", endpoints),
                ret, err);
}

static int answer_health(const struct route_context *context, const char *parameter, char **ret,
                         kgrade_error *err)
{
    (void)parameter;
    struct queue_counts counts = queue_counts(context->queue);
    return dump(json_pack("{s:s, s:{s:i, s:i, s:i}, s:I}", "status", "ok", "queue", "running",
                          (int)counts.running, "waiting", (int)counts.waiting, "limit",
                          (int)counts.limit, "graded", (json_int_t)counts.graded),
                ret, err);
}

static int answer_version(const struct route_context *context, const char *parameter, char **ret,
                          kgrade_error *err)
{
    (void)context;
    (void)parameter;
    return dump(json_pack("{s:s, s:s, s:s, s:{s:s, s:s}}", "name", "kgraded", "version",
                          kgrade_version(), "schema", KGRADE_SCHEMA, "libraries", "libmicrohttpd",
                          MHD_get_version(), "jansson", jansson_version_str()),
                ret, err);
}

static int answer_tasks(const struct route_context *context, const char *parameter, char **ret,
                        kgrade_error *err)
{
    (void)parameter;
    return kgrade_tasks_json(context->engine, ret, err);
}

static int answer_task(const struct route_context *context, const char *parameter, char **ret,
                       kgrade_error *err)
{
    return kgrade_task_json(context->engine, parameter, ret, err);
}

const struct route routes[] = {
    {"GET", "/", "This list", answer_index},
    {"POST", "/grade", "Grades a candidate and answers with the result", NULL},
    {"GET", "/tasks", "The tasks there are", answer_tasks},
    {"GET", "/tasks/{name}", "One task: statement, signature, cases, a source to start from",
     answer_task},
    {"GET", "/healthz", "Whether the server is alive, and how full its queue is", answer_health},
    {"GET", "/version", "Versions of the server and of what it answers with", answer_version},
    {NULL, NULL, NULL, NULL},
};

const struct route *route_find(const char *path, const char **ret_parameter)
{
    for (const struct route *r = routes; r->method; r++) {
        const char *brace = strchr(r->path, '{');
        size_t fixed = brace ? (size_t)(brace - r->path) : strlen(r->path);
        if (strncmp(path, r->path, fixed))
            continue;
        const char *rest = path + fixed;
        if (brace ? *rest && !strchr(rest, '/') : !*rest) {
            *ret_parameter = rest;
            return r;
        }
    }
    return NULL;
}

const char *route_allow(const struct route *route)
{
    return strcmp(route->method, "GET") ? route->method : "GET, HEAD";
}
