#include "routes.h"

#include <stdio.h>
#include <string.h>

#include "batch.h"
#include "events.h"
#include "grade_get.h"
#include "grade_post.h"
#include "pages.h"
#include "state.h"

const struct route routes[] = {
    {"GET", "/", "This list", page_index, ROUTE_OPEN, NULL},
    {"POST", "/grade", "Grades a candidate: waits for the result, or says where it will be",
     grade_post, ROUTE_BODY, "wait "},
    {"POST", "/grades", "Queues up to 64 candidates", batch_post, ROUTE_BODY, NULL},
    {"GET", "/grades", "The caller's grades, newest first", grade_list, 0, "limit before "},
    {"GET", "/grades/{id}", "One grade: its state, and its result when it is done", grade_get, 0,
     "wait "},
    {"DELETE", "/grades/{id}", "Cancels a grade that is not done", grade_delete, 0, "wait "},
    {"GET", "/grades/{id}/events", "What becomes of a grade, as server-sent events", events_get, 0,
     NULL},
    {"GET", "/grades/{id}/source", "The source that was graded", grade_source, 0, NULL},
    {"GET", "/leaderboards/{task}", "The ranking of a task on a device", leaderboard_get, 0,
     "device limit "},
    {"GET", "/tasks", "The tasks there are", page_tasks, 0, NULL},
    {"GET", "/tasks/{name}", "One task: statement, signature, cases, a source to start from",
     page_task, 0, NULL},
    {"GET", "/healthz", "Whether the server is alive, and how full its queue is", page_health,
     ROUTE_OPEN, NULL},
    {"GET", "/readyz", "Whether it can grade now: store, sandbox, devices", state_ready, ROUTE_OPEN,
     NULL},
    {"GET", "/metrics", "Figures for Prometheus", state_metrics, 0, NULL},
    {"GET", "/version", "Versions of the server and of what it answers with", page_version,
     ROUTE_OPEN, NULL},
    {"GET", "/openapi.json", "The reference of all this", page_openapi, ROUTE_OPEN, NULL},
    {"GET", "/schemas/grade.json", "The schema of a result", page_schema, ROUTE_OPEN, NULL},
    {NULL, NULL, NULL, NULL, 0, NULL},
};

static int fits(const struct route *r, const char *path, const char **ret_parameter,
                size_t *ret_size)
{
    const char *open = strchr(r->path, '{');
    *ret_parameter = "";
    *ret_size = 0;
    if (!open)
        return !strcmp(path, r->path);
    size_t before = (size_t)(open - r->path);
    const char *after = strchr(open, '}') + 1;
    if (strncmp(path, r->path, before))
        return 0;
    size_t size = strcspn(path + before, "/");
    *ret_parameter = path + before;
    *ret_size = size;
    return size && !strcmp(path + before + size, after);
}

const struct route *route_find(const char *path, const char *method, const char **ret_parameter,
                               size_t *ret_size, const struct route **ret_other)
{
    const char *sought = strcmp(method, "HEAD") ? method : "GET";
    *ret_other = NULL;
    for (const struct route *r = routes; r->method; r++) {
        if (!fits(r, path, ret_parameter, ret_size))
            continue;
        if (!strcmp(r->method, sought))
            return r;
        *ret_other = r;
    }
    return NULL;
}

const char *route_allow(const struct route *route, char ret[ROUTE_ALLOW_SIZE])
{
    size_t used = 0;
    ret[0] = 0;
    for (const struct route *r = routes; r->method; r++)
        if (!strcmp(r->path, route->path) && used < ROUTE_ALLOW_SIZE)
            used += (size_t)snprintf(ret + used, ROUTE_ALLOW_SIZE - used, "%s%s", used ? ", " : "",
                                     strcmp(r->method, "GET") ? r->method : "GET, HEAD");
    return ret;
}
