#define _GNU_SOURCE
#include "grade_get.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "answer.h"
#include "query.h"
#include "view.h"

static bool is_id(const char *text)
{
    return strlen(text) == STORE_ID_SIZE - 1 &&
           strspn(text, "0123456789abcdef") == STORE_ID_SIZE - 1;
}

/* The same words whether there is none or it is somebody else's. */
static int unknown(const struct request *r, kgrade_error *err)
{
    return fail(err, "unknown_grade", "GET /grades lists the grades that you can see.",
                "There is no grade '%.100s' of yours.", r->parameter);
}

int grade_find(struct request *r, kgrade_error *err)
{
    kgrade_error why = {.code = ""};
    if (!is_id(r->parameter))
        return unknown(r, err);
    struct job *job = jobs_find(r->context->jobs, r->parameter, &why);
    if (!job && !strcmp(why.code, "unknown_grade"))
        return unknown(r, err);
    if (!job) {
        *err = why;
        return -1;
    }
    job_look(job, &r->view);
    if (!access_may_see(&r->caller, r->view.owner)) {
        job_release(job);
        return unknown(r, err);
    }
    r->job = job;
    return 0;
}

static bool is_over(const struct request *r, unsigned sight)
{
    return sight & CONNECTION_ENDING || atomic_load(&r->context->draining) ||
           io_now() >= r->wait_until;
}

static enum MHD_Result sleep_on(struct request *r)
{
    return connection_sleep(r->connection, r->wait_until, r->interim) ? MHD_YES : MHD_NO;
}

enum MHD_Result grade_get(struct request *r)
{
    if (!r->job && (query_wait(r, 0, &r->wait_until, &r->problem) || grade_find(r, &r->problem)))
        return answer_problem(r, &r->problem);
    unsigned sight = connection_look(r->connection);
    const struct job_view *v = &r->view;
    job_look(r->job, &r->view);
    if (!view_is_final(v->state) && !is_over(r, sight)) {
        if (sight & CONNECTION_GONE)
            return request_abandon(r);
        if (r->watch)
            return sleep_on(r);
        /* What happened before it was watched wakes nobody: look again. */
        return request_watch(r, &r->problem) ? answer_problem(r, &r->problem) : grade_get(r);
    }
    snprintf(r->outcome, sizeof r->outcome, "%s", view_state_name(v->state));
    return answer_text(r, 200, ANSWER_JSON, view_whole(r->job, v));
}

static int begin_delete(struct request *r, kgrade_error *err)
{
    if (query_wait(r, GRADE_CANCEL_WAIT_S, &r->wait_until, err) || grade_find(r, err) ||
        request_watch(r, err))
        return -1;
    return r->view.state == JOB_CANCELLED ? 0 : job_cancel(r->job, err);
}

enum MHD_Result grade_delete(struct request *r)
{
    if (!r->watch && begin_delete(r, &r->problem))
        return answer_problem(r, &r->problem);
    unsigned sight = connection_look(r->connection);
    const struct job_view *v = &r->view;
    job_look(r->job, &r->view);
    if (v->state == JOB_DONE) {
        fail(&r->problem, "already_done", "GET it for its result.",
             "The grade was done before it could be cancelled.");
        return answer_problem(r, &r->problem);
    }
    bool final = view_is_final(v->state);
    if (!final && !is_over(r, sight))
        return sight & CONNECTION_GONE ? request_abandon(r) : sleep_on(r);
    snprintf(r->outcome, sizeof r->outcome, "%s", view_state_name(v->state));
    return final ? answer_text(r, 200, ANSWER_JSON, view_whole(r->job, v))
                 : answer_json(r, 202, view_brief(v));
}

/* The rest reads the store. */

enum MHD_Result grade_list(struct request *r)
{
    unsigned limit = 0;
    const char *before = query_text(r, "before");
    if (query_count(r, "limit", 1, GRADE_LIST_MOST, GRADE_LIST_DEFAULT, &limit, &r->problem))
        return answer_problem(r, &r->problem);
    if (before && !is_id(before)) {
        fail(&r->problem, "invalid_parameter", "It is \"next\" of the answer before.",
             "The parameter \"before\" is the id of a grade, not '%.100s'.", before);
        return answer_problem(r, &r->problem);
    }
    const char *owner = r->caller.role == ACCESS_OPERATOR ? NULL : r->caller.name;
    json_t *grades = store_list(r->context->store, owner, before, limit, &r->problem);
    if (!grades)
        return answer_problem(r, &r->problem);
    size_t n = json_array_size(grades);
    const json_t *last = json_array_get(grades, n ? n - 1 : 0);
    const char *next = n == limit ? json_string_value(json_object_get(last, "id")) : NULL;
    snprintf(r->outcome, sizeof r->outcome, "ok");
    return answer_json(r, 200, json_pack("{s:s?, s:o}", "next", next, "grades", grades));
}

enum MHD_Result grade_source(struct request *r)
{
    struct store_row row = {0};
    int found = is_id(r->parameter) ? store_get(r->context->store, r->parameter, STORE_WITH_SOURCE,
                                                &row, &r->problem)
                                    : 1;
    bool visible = !found && access_may_see(&r->caller, row.owner);
    if (found >= 0 && !visible)
        unknown(r, &r->problem);
    char *source = visible && row.source ? strndup(row.source, row.source_size) : NULL;
    if (!found)
        store_row_free(&row);
    if (!visible)
        return answer_problem(r, &r->problem);
    snprintf(r->outcome, sizeof r->outcome, "ok");
    return answer_text(r, 200, "text/plain; charset=utf-8", source);
}

enum MHD_Result leaderboard_get(struct request *r)
{
    unsigned limit = 0;
    const char *device = query_text(r, "device");
    const kgrade_request any = {
        .task = r->parameter, .device = device, .source = " ", .source_size = 1};
    if (!device)
        fail(&r->problem, "missing_parameter", "GET /tasks lists the devices of each task.",
             "%s needs the parameter \"device\".", r->parameter);
    if (!device || kgrade_check_request(r->context->engine, &any, &r->problem) ||
        query_count(r, "limit", 1, LEADERBOARD_MOST, LEADERBOARD_DEFAULT, &limit, &r->problem))
        return answer_problem(r, &r->problem);
    json_t *board = store_leaderboard(r->context->store, r->parameter, device, limit, &r->problem);
    if (!board)
        return answer_problem(r, &r->problem);
    snprintf(r->outcome, sizeof r->outcome, "ok");
    return answer_json(r, 200, board);
}
