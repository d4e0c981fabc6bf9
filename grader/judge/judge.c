#define _GNU_SOURCE
#include "judge.h"

#include <stdio.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../build/build.h"
#include "../grade/jails.h"

#define JUDGE_TIMEOUT_NS                                                                           \
    (300 * IO_NS_PER_S) /* a double-precision reference on one core can be slow */

static int request(struct judge_client *j, json_t *json, int fd, struct worker_outcome *o,
                   struct finding *f)
{
    worker_request(&j->worker, json, NULL, 0, fd, io_now() + j->timeout_ns, o);
    return o->answer == WORKER_ANSWERED ? 0 : worker_fault(o, "judge", f);
}

static int send_library(struct judge_client *j, json_t *json, const struct bytes *library,
                        struct finding *f)
{
    kgrade_error err = {.code = ""};
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    cleanup_close int fd = jails_memory_file("reference.so", library->data, library->size, &err);
    if (fd < 0) {
        json_decref(json);
        return finding_infrastructure(f, &err);
    }
    return request(j, json, fd, &o, f);
}

/* The judge compares it with reference.c when this engine sends it for the first time. */
static int send_device_reference(kgrade *engine, struct judge_client *j,
                                 struct reference *reference, struct finding *f)
{
    bool checked = build_reference_is_checked(engine, reference);
    if (send_library(j, json_pack("{s:s, s:b}", "op", "device_reference", "check", !checked),
                     &reference->library, f))
        return -1;
    build_reference_set_checked(engine, reference);
    return 0;
}

static int send_task(struct judge_client *j, const struct task *task, int arena_fd,
                     struct finding *f)
{
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    return request(j, json_pack("{s:s, s:s}", "op", "open", "task", task->text), arena_fd, &o, f);
}

int judge_open(kgrade *engine, const struct device *device, const char *target,
               const struct task *task, int arena_fd, struct judge_client *ret, struct finding *f)
{
    kgrade_error err = {.code = ""};
    const struct bytes *library;
    struct reference *reference;
    if (build_reference(engine, task, &library, f) ||
        build_device_reference(engine, device, target, task, &reference, f))
        return -1;
    if (worker_take(engine, device, STEP_JUDGE, NULL, &ret->worker, &err))
        return finding_infrastructure(f, &err);
    if (!ret->timeout_ns)
        ret->timeout_ns = JUDGE_TIMEOUT_NS;
    if (send_task(ret, task, arena_fd, f) ||
        send_library(ret, json_pack("{s:s}", "op", "reference"), library, f))
        return -1;
    return reference ? send_device_reference(engine, ret, reference, f) : 0;
}

int judge_snapshot(struct judge_client *j, const struct task *task, const struct task_case *c,
                   uint64_t seed, uint64_t poison, json_int_t *ret_id, struct finding *f)
{
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    if (request(j,
                json_pack("{s:s, s:o, s:I, s:o, s:o}", "op", "snapshot", "dims",
                          wire_dims_json(c->dims, task->n_dims), "values", (json_int_t)c->values,
                          "seed", wire_u64_json(seed), "poison", wire_u64_json(poison)),
                -1, &o, f))
        return -1;
    *ret_id = json_integer_value(json_object_get(o.message.json, "id"));
    return 0;
}

int judge_decide(struct judge_client *j, json_int_t id, struct judgement *ret, struct finding *f)
{
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    if (request(j, json_pack("{s:s, s:I}", "op", "judge", "id", id), -1, &o, f))
        return -1;
    const char *code = json_string_value(json_object_get(o.message.json, "code"));
    /* A positive verdict is required: anything short of "pass": true is a failure. */
    ret->pass = json_is_true(json_object_get(o.message.json, "pass"));
    snprintf(ret->code, sizeof ret->code, "%s", code ? code : ret->pass ? "" : "wrong_values");
    ret->correctness = json_incref(json_object_get(o.message.json, "correctness"));
    return 0;
}

int judge_answer(struct judge_client *j, const struct task *task, const struct task_case *c,
                 uint64_t seed, const struct judge_twist *twist, int arena_fd, struct finding *f)
{
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    json_t *json = json_pack("{s:s, s:o, s:I, s:o}", "op", "answer", "dims",
                             wire_dims_json(c->dims, task->n_dims), "values", (json_int_t)c->values,
                             "seed", wire_u64_json(seed));
    if (twist && twist->param != SIZE_MAX) {
        json_object_set_new(json, "vary", json_integer((json_int_t)twist->param));
        json_object_set_new(json, "vary_seed", wire_u64_json(twist->seed));
    }
    if (twist && twist->mantissa_bits)
        json_object_set_new(json, "mantissa_bits", json_integer(twist->mantissa_bits));
    return request(j, json, arena_fd, &o, f);
}

void judge_close(struct judge_client *j)
{
    worker_end(&j->worker);
}
