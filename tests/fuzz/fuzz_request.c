/*
 * The body of POST /grade and of POST /grades, taken the way the server takes it: parsed, its fields read, then checked by the library.  What
 * is refused must be the client's fault and must come out as a problem document; what is taken must come back the same
 * from a body made of it.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <stdio.h>

#include "grader/grade/engine.h"
#include "sandbox/base/cleanup.h"
#include "server/http/body.h"
#include "server/http/problem.h"

/* An engine without workers: checking a request takes no more than its tasks. */
static kgrade *engine_with_tasks(void)
{
    kgrade *engine = calloc(1, sizeof *engine);
    require(engine);
    pthread_mutex_init(&engine->tasks_lock, NULL);
    require(task_set_load(KGRADE_SOURCE_DIR "/tasks", NULL, &engine->tasks, NULL) == 0);
    return engine;
}

static void refused(const kgrade_error *err)
{
    require_reason(err);
    unsigned status = problem_status(err->code);
    require(status >= 400 && status < 500);
    cleanup_free char *text = problem_json(err);
    require(text);
    json_auto_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    require(json_is_object(json));
    require(!strcmp(json_string_value(json_object_get(json, "code")), err->code));
}

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static void round_trip(const struct body_grade *body)
{
    const kgrade_request *r = &body->grade;
    json_auto_t *made =
        json_pack("{s:s, s:s, s:s, s:s?, s:b, s:b, s:f}", "task", r->task, "device", r->device,
                  "source", r->source, "language", r->language, "reuse", body->reuse, "profile",
                  r->profile, "deadline_s", body->deadline_s);
    if (body->deadline_s == 0)
        json_object_del(made, "deadline_s");
    cleanup_free char *text = made ? json_dumps(made, JSON_COMPACT) : NULL;
    require(text);
    json_auto_t *root = body_parse(text, strlen(text), NULL);
    struct body_grade back;
    require(root && body_grade(root, &back, NULL) == 0);
    require(same(back.grade.task, r->task) && same(back.grade.device, r->device) &&
            same(back.grade.language, r->language) && same(back.grade.source, r->source) &&
            back.grade.source_size == r->source_size && back.reuse == body->reuse &&
            back.grade.profile == r->profile && !(back.deadline_s < body->deadline_s) &&
            !(back.deadline_s > body->deadline_s));
}

static void try_grade(json_t *json)
{
    static kgrade *engine;
    struct body_grade body;
    kgrade_error err = {.code = ""};
    if (!engine)
        engine = engine_with_tasks();
    if (body_grade(json, &body, &err)) {
        refused(&err);
        return;
    }
    require(body.grade.task && body.grade.device && body.grade.source &&
            body.grade.source_size == strlen(body.grade.source));
    require(body.deadline_s >= 0 && body.deadline_s <= BODY_MAX_DEADLINE_S);
    round_trip(&body);
    if (kgrade_check_request(engine, &body.grade, &err))
        refused(&err);
}

static void try_batch(json_t *json)
{
    json_t *grades;
    kgrade_error err = {.code = ""};
    if (body_batch(json, &grades, &err)) {
        refused(&err);
        return;
    }
    require(json_array_size(grades) >= 1 && json_array_size(grades) <= BODY_MAX_BATCH);
    for (size_t i = 0; i < json_array_size(grades); i++)
        try_grade(json_array_get(grades, i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kgrade_error err = {.code = ""};
    json_auto_t *root = body_parse((const char *)data, size, &err);
    if (!root) {
        refused(&err);
        return 0;
    }
    require(!memchr(data, 0, size));
    try_grade(root);
    try_batch(root);
    return 0;
}
