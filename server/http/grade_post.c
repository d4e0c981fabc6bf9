#define _GNU_SOURCE
#include "grade_post.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "answer.h"
#include "query.h"
#include "view.h"

/* The longest that a client is sent away for at a time. */
#define MAX_RETRY_S 60

int grade_key(const struct request *r, size_t longest, const char **ret, kgrade_error *err)
{
    const char *key = MHD_lookup_connection_value(r->mhd, MHD_HEADER_KIND, "Idempotency-Key");
    size_t size = key ? strlen(key) : 0;
    bool printable = true;
    for (size_t i = 0; i < size; i++)
        printable = printable && key[i] > ' ' && key[i] < 0x7f;
    if (key && (!size || size > longest || !printable))
        return fail(err, "invalid_idempotency_key", "A random UUID will do.",
                    "The header Idempotency-Key takes 1 to %zu printable ASCII characters without "
                    "spaces.",
                    longest);
    *ret = key;
    return 0;
}

int grade_read(const struct request *r, json_t *json, struct body_grade *ret, kgrade_error *err)
{
    return body_grade(json, ret, err) ? -1
                                      : kgrade_check_request(r->context->engine, &ret->grade, err);
}

int grade_submit(const struct request *r, const struct body_grade *body, const char *key,
                 struct job **ret, kgrade_error *err)
{
    const struct jobs_request request = {
        .grade = body->grade,
        .owner = r->caller.name,
        .idempotency_key = key,
        .reuse = body->reuse,
        .deadline_s = body->deadline_s,
        .owner_queue = r->caller.queue,
    };
    return jobs_submit(r->context->jobs, &request, ret, err);
}

void grade_not_stored(kgrade_error *ret)
{
    fail(ret, "store_unavailable",
         "Send the request again after the seconds that Retry-After gives.",
         "The store did not take the grade within %d s.", GRADE_STORE_S);
}

static int begin(struct request *r, kgrade_error *err)
{
    const char *key = NULL;
    struct body_grade body;
    json_auto_t *root = request_take_body(r, err);
    if (!root || query_wait(r, GRADE_DEFAULT_WAIT_S, &r->wait_until, err) ||
        grade_key(r, STORE_MAX_KEY, &key, err) || grade_read(r, root, &body, err) ||
        access_admit(r->context->access, &r->caller, 1, &r->retry_after, err) ||
        grade_submit(r, &body, key, &r->job, err))
        return -1;
    return request_watch(r, err);
}

static enum MHD_Result sleep_until(struct request *r, uint64_t deadline)
{
    return connection_sleep(r->connection, deadline, r->interim) ? MHD_YES : MHD_NO;
}

static void tell(struct request *r, const struct job_view *v)
{
    job_tell(r->job);
    snprintf(r->location, sizeof r->location, "/grades/%s", v->id);
}

static enum MHD_Result answer_result(struct request *r, const struct job_view *v)
{
    tell(r, v);
    r->is_verdict = true;
    snprintf(r->outcome, sizeof r->outcome, "%s", kgrade_verdict_name(v->verdict));
    if (v->started_ms)
        snprintf(r->timing, sizeof r->timing, "queue;dur=%lld, grade;dur=%lld",
                 (long long)(v->started_ms - v->created_ms),
                 (long long)(v->ended_ms - v->started_ms));
    return answer_text(r, 200, ANSWER_JSON, v->result ? strdup(v->result) : NULL);
}

static enum MHD_Result answer_later(struct request *r, const struct job_view *v)
{
    tell(r, v);
    snprintf(r->outcome, sizeof r->outcome, "%s", view_state_name(v->state));
    double seconds = v->estimate_s > 0 ? ceil(v->estimate_s) : jobs_estimate_s(r->context->jobs);
    r->retry_after = seconds < MAX_RETRY_S ? (unsigned)seconds : MAX_RETRY_S;
    return answer_json(r, 202, view_brief(v));
}

/* While it is not known whether the job is on disk, nothing may be said about it. */
static enum MHD_Result await_store(struct request *r, unsigned sight)
{
    uint64_t until = r->began_ns + GRADE_STORE_S * IO_NS_PER_S;
    if (!(sight & CONNECTION_ENDING) && io_now() < until)
        return sleep_until(r, until);
    grade_not_stored(&r->problem);
    return answer_problem(r, &r->problem);
}

static enum MHD_Result follow(struct request *r)
{
    unsigned sight = connection_look(r->connection);
    const struct job_view *v = &r->view;
    job_look(r->job, &r->view);
    r->reused = v->reused;
    if (v->state == JOB_REFUSED)
        return answer_problem(r, &v->error);
    if (sight & CONNECTION_GONE)
        return request_abandon(r);
    if (v->state == JOB_STORING)
        return await_store(r, sight);
    if (v->state == JOB_DONE)
        return answer_result(r, v);
    if (v->state == JOB_CANCELLED) {
        tell(r, v);
        return answer_problem(r, &v->error);
    }
    bool hopeless =
        sight & CONNECTION_ENDING || (v->state == JOB_QUEUED && atomic_load(&r->context->draining));
    if (hopeless || io_now() >= r->wait_until)
        return answer_later(r, v);
    return sleep_until(r, r->wait_until);
}

enum MHD_Result grade_post(struct request *r)
{
    if (!r->job && begin(r, &r->problem))
        return answer_problem(r, &r->problem);
    if (!r->watch) /* the job was made, but cannot be followed */
        return answer_problem(r, &r->problem);
    return follow(r);
}
