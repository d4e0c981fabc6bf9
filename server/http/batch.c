#define _GNU_SOURCE
#include "batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "answer.h"
#include "body.h"
#include "grade_post.h"
#include "problem.h"
#include "view.h"

/* What is appended to the batch's Idempotency-Key for each of its grades: "/63". */
#define KEY_SUFFIX 3
_Static_assert(BODY_MAX_BATCH <= 100, "two digits must do");

struct item {
    struct job *job; /* NULL: there is a problem */
    struct job_watch *watch;
    json_t *problem;
};

struct batch {
    size_t n;
    struct item items[BODY_MAX_BATCH];
};

static void batch_free(void *data)
{
    struct batch *b = data;
    for (size_t i = 0; i < b->n; i++) {
        job_unwatch(b->items[i].watch);
        job_release(b->items[i].job);
        json_decref(b->items[i].problem);
    }
    free(b);
}

static void set_problem(struct item *item, const kgrade_error *problem)
{
    item->problem = problem_object(problem);
    job_unwatch(item->watch);
    item->watch = NULL;
    job_release(item->job);
    item->job = NULL;
}

static void submit(struct request *r, struct item *item, json_t *json, const char *key, size_t i)
{
    struct body_grade body;
    kgrade_error problem;
    char own_key[STORE_MAX_KEY + 1];
    snprintf(own_key, sizeof own_key, "%s/%zu", key ? key : "", i);
    if (grade_read(r, json, &body, &problem) ||
        grade_submit(r, &body, key ? own_key : NULL, &item->job, &problem)) {
        set_problem(item, &problem);
        return;
    }
    item->watch = job_watch(item->job, request_changed, r);
    if (!item->watch) {
        answer_no_memory(&problem);
        set_problem(item, &problem);
    }
}

static int begin(struct request *r, kgrade_error *err)
{
    const char *key = NULL;
    json_t *grades = NULL;
    json_auto_t *root = request_take_body(r, err);
    if (!root || body_batch(root, &grades, err) ||
        grade_key(r, STORE_MAX_KEY - KEY_SUFFIX, &key, err) ||
        access_admit(r->context->access, &r->caller, (unsigned)json_array_size(grades),
                     &r->retry_after, err))
        return -1;
    struct batch *b = calloc(1, sizeof *b);
    if (!b)
        return answer_no_memory(err);
    r->state = b;
    r->free_state = batch_free;
    b->n = json_array_size(grades);
    for (size_t i = 0; i < b->n; i++)
        submit(r, &b->items[i], json_array_get(grades, i), key, i);
    return 0;
}

/* Whether it is known what became of the item: it is on disk, or there is a problem. */
static bool settle(struct item *item, bool late)
{
    if (!item->job)
        return true;
    struct job_view v;
    job_look(item->job, &v);
    if (v.state == JOB_STORING && !late)
        return false;
    if (v.state == JOB_STORING)
        grade_not_stored(&v.error);
    if (v.state == JOB_STORING || v.state == JOB_REFUSED)
        set_problem(item, &v.error);
    return true;
}

static json_t *item_json(const struct item *item)
{
    if (!item->job)
        return json_pack("{s:O*}", "problem", item->problem);
    struct job_view v;
    job_tell(item->job);
    job_look(item->job, &v);
    return view_brief(&v);
}

enum MHD_Result batch_post(struct request *r)
{
    if (!r->state && begin(r, &r->problem))
        return answer_problem(r, &r->problem);
    struct batch *b = r->state;
    unsigned sight = connection_look(r->connection);
    uint64_t until = r->began_ns + GRADE_STORE_S * IO_NS_PER_S;
    bool late = sight & CONNECTION_ENDING || io_now() >= until;
    bool settled = true;
    for (size_t i = 0; i < b->n; i++)
        settled = settle(&b->items[i], late) && settled;
    if (sight & CONNECTION_GONE)
        return request_abandon(r);
    if (!settled)
        return connection_sleep(r->connection, until, r->interim) ? MHD_YES : MHD_NO;

    json_t *grades = json_array();
    unsigned accepted = 0;
    for (size_t i = 0; i < b->n; i++) {
        accepted += b->items[i].job != NULL;
        json_array_append_new(grades, item_json(&b->items[i]));
    }
    snprintf(r->outcome, sizeof r->outcome, "accepted_%u_of_%zu", accepted, b->n);
    return answer_json(r, 202, json_pack("{s:o}", "grades", grades));
}
