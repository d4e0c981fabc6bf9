#include "pages.h"

#include <sqlite3.h>
#include <stdio.h>

#include "answer.h"
#include "documents.h"
#include "routes.h"

static enum MHD_Result good(struct request *r, json_t *json)
{
    snprintf(r->outcome, sizeof r->outcome, "ok");
    return answer_json(r, 200, json);
}

/* Takes over text. */
static enum MHD_Result good_text(struct request *r, int failed, char *text)
{
    if (failed)
        return answer_problem(r, &r->problem);
    snprintf(r->outcome, sizeof r->outcome, "ok");
    return answer_text(r, 200, ANSWER_JSON, text);
}

enum MHD_Result page_index(struct request *r)
{
    json_t *endpoints = json_array();
    for (const struct route *p = routes; p->method; p++)
        json_array_append_new(endpoints, json_pack("{s:s, s:s, s:s}", "method", p->method, "path",
                                                   p->path, "summary", p->summary));
    return good(r, json_pack("{s:s, s:s, s:s, s:o}", "name", "kgraded", "version", kgrade_version(),
                             "reference", "/openapi.json", "endpoints", endpoints));
}

enum MHD_Result page_tasks(struct request *r)
{
    char *text = NULL;
    int failed = kgrade_tasks_json(r->context->engine, &text, &r->problem);
    return good_text(r, failed, text);
}

enum MHD_Result page_task(struct request *r)
{
    char *text = NULL;
    int failed = kgrade_task_json(r->context->engine, r->parameter, &text, &r->problem);
    return good_text(r, failed, text);
}

enum MHD_Result page_health(struct request *r)
{
    struct jobs_counts counts;
    jobs_count(r->context->jobs, NULL, &counts);
    return good(r, json_pack("{s:s, s:{s:i, s:i, s:i}, s:I}", "status", "ok", "queue", "running",
                             (int)counts.running, "waiting", (int)counts.waiting, "limit",
                             (int)counts.limit, "graded", (json_int_t)counts.done));
}

enum MHD_Result page_version(struct request *r)
{
    return good(r, json_pack("{s:s, s:s, s:s, s:{s:s, s:s, s:s}}", "name", "kgraded", "version",
                             kgrade_version(), "schema", KGRADE_SCHEMA, "libraries",
                             "libmicrohttpd", MHD_get_version(), "jansson", jansson_version_str(),
                             "sqlite", sqlite3_libversion()));
}

enum MHD_Result page_openapi(struct request *r)
{
    snprintf(r->outcome, sizeof r->outcome, "ok");
    return answer_static(r, 200, ANSWER_JSON, document_openapi, document_openapi_size);
}

enum MHD_Result page_schema(struct request *r)
{
    snprintf(r->outcome, sizeof r->outcome, "ok");
    return answer_static(r, 200, ANSWER_JSON, document_grade_schema, document_grade_schema_size);
}
