#define _GNU_SOURCE
#include "judge.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../build/build.h"
#include "../grade/jails.h"

#define JUDGE_TIMEOUT_NS                                                                           \
    (300 * IO_NS_PER_S) /* a double-precision reference on one core can be slow */
#define DEFAULT_JUDGE_BUDGET_S 600.0

static double in_seconds(uint64_t ns)
{
    return (double)ns / (double)IO_NS_PER_S;
}

/* While the judge computes, nobody else gets the device. */
static int blame_slowness(const struct judge_client *j, struct finding *f)
{
    finding_free(f);
    finding_set(
        f, KGRADE_INFRASTRUCTURE_ERROR, "judging_too_slow",
        "Give the task smaller cases, or a faster reference or check; an operator can allow "
        "more time.",
        "Making the inputs and right answers of a grade, and comparing, took longer than "
        "%.3g seconds in all.",
        in_seconds(j->budget_ns));
    f->retryable = false;
    return -1;
}

/* What goes wrong in the task's own Python is its author's to mend, and told with what it printed. */
static int blame_python(struct judge_client *j, const struct worker_outcome *o, struct finding *f)
{
    static const char code[] = "reference_failed";
    bool never_ran = o->answer == WORKER_DIED && (o->status.end == JAIL_NOT_STARTED ||
                                                  !strcmp(f->reason.code, "device_unavailable"));
    if (never_ran || o->answer == WORKER_CANCELLED)
        return -1;
    if (o->answer == WORKER_LATE) {
        finding_free(f);
        finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, code, "Give the task smaller cases.",
                    "The task's Python did not answer within %.0f seconds.",
                    in_seconds(j->timeout_ns));
    } else if (o->answer == WORKER_DIED) {
        finding_free(f);
        finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, code,
                    "Mend the task's Python: it must not exit, crash, print without end or take "
                    "more memory than a candidate may.",
                    "The task's Python ended its process (%s %d).",
                    o->status.end == JAIL_SIGNALLED ? "signal" : "status", o->status.code);
    } else if (o->answer == WORKER_GARBLED) {
        finding_free(f);
        finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, code,
                    "Mend the task's Python: it must leave files that it has not opened alone.",
                    "The task's Python sent something that is not a message.");
    }
    f->retryable = false;
    if (!f->log)
        f->log = worker_log(&j->worker);
    return -1;
}

static int request_with(struct judge_client *j, json_t *json, const char *blob, int fd,
                        struct worker_outcome *o, struct finding *f)
{
    uint64_t start = io_now(), left = j->budget_ns > j->used_ns ? j->budget_ns - j->used_ns : 0;
    bool is_last = left < j->timeout_ns;
    worker_request(&j->worker, json, blob, blob ? strlen(blob) : 0, fd,
                   start + (is_last ? left : j->timeout_ns), o);
    j->used_ns += io_now() - start;
    if (o->answer == WORKER_ANSWERED)
        return 0;
    if (o->answer == WORKER_LATE && is_last)
        return blame_slowness(j, f);
    worker_fault(o, "judge", f);
    return j->foreign ? blame_python(j, o, f) : -1;
}

static int request(struct judge_client *j, json_t *json, int fd, struct worker_outcome *o,
                   struct finding *f)
{
    return request_with(j, json, NULL, fd, o, f);
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

/* --- foreign tasks --- */

const struct python *judge_interpreter(const kgrade *engine)
{
    return engine->pythons.n ? &engine->pythons.items[0] : NULL;
}

/* A device's judge is a library for interpreters where its recorder is one. */
bool judge_takes_python(const struct device *device)
{
    for (const struct device_language *l = device->languages; l->name; l++)
        if (l->interpreted)
            return true;
    return false;
}

static const struct python *choose_python(kgrade *engine, struct finding *f)
{
    const struct python *python = judge_interpreter(engine);
    if (python)
        return python;
    finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "no_python",
                "Name an interpreter that has what the task imports: --python, or `python` in the "
                "settings.",
                "The task's reference is in Python, and no interpreter is named.");
    f->retryable = false;
    return NULL;
}

static int take_python(kgrade *engine, const struct device *device, const struct python *python,
                       struct judge_client *ret, struct finding *f)
{
    kgrade_error err = {.code = ""};
    ret->foreign = true;
    if (judge_takes_python(device))
        return worker_take(engine, device, STEP_JUDGE, python, &ret->worker, &err)
                   ? finding_infrastructure(f, &err)
                   : 0;
    finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "device_without_python",
                "Grade it on another device.",
                "The %s device takes no task whose reference is in Python.", device->name);
    f->retryable = false;
    return -1;
}

static int open_python(kgrade *engine, const struct device *device, const struct task *task,
                       int arena_fd, struct judge_client *ret, struct finding *f)
{
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    cleanup_free char *files = task_python_files(task);
    const struct python *python = choose_python(engine, f);
    if (!python)
        return -1;
    if (!files)
        return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "out_of_memory", NULL,
                           "No memory for the task's Python.");
    if (take_python(engine, device, python, ret, f))
        return -1;
    if (send_task(ret, task, arena_fd, f) ||
        request_with(ret, json_pack("{s:s}", "op", "python"), files, -1, &o, f))
        return -1;
    ret->fills = json_is_true(json_object_get(o.message.json, "fills"));
    return 0;
}

int judge_open_describer(kgrade *engine, const struct device *device, const struct python *python,
                         struct judge_client *ret, struct finding *f)
{
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    ret->timeout_ns = ret->budget_ns = JUDGE_TIMEOUT_NS;
    if (take_python(engine, device, python, ret, f) ||
        request(ret, json_pack("{s:s}", "op", "ready"), -1, &o, f))
        return -1;
    ret->used_ns = 0;
    return 0;
}

int judge_describe(struct judge_client *j, const char *problem, char **ret, struct finding *f)
{
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    if (request_with(j, json_pack("{s:s}", "op", "describe"), problem, -1, &o, f)) {
        if (o.answer != WORKER_LATE)
            return -1;
        finding_free(f);
        return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "problem_too_slow",
                           "Give it smaller cases, or describe it on the device that it is for.",
                           "Making the inputs and answers of all cases took longer than %.0f "
                           "seconds.",
                           in_seconds(j->timeout_ns));
    }
    *ret = strndup((const char *)o.message.blob.data, o.message.blob.size);
    return *ret ? 0
                : finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "out_of_memory", NULL,
                              "No memory for a task.");
}

static json_t *inputs_json(const struct task *task, const struct task_case *c, uint64_t seed)
{
    return json_pack("{s:s, s:o, s:o}", "op", "inputs", "dims",
                     wire_dims_json(c->dims, task->n_dims), "seed", wire_u64_json(seed));
}

int judge_inputs(struct judge_client *j, const struct task *task, const struct task_case *c,
                 uint64_t seed, int fd, struct finding *f)
{
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    int result = request(j, inputs_json(task, c, seed), j->inputs_sent ? -1 : fd, &o, f);
    j->inputs_sent = true;
    return result;
}

static int make_inputs(void *judge, const struct task *task, const struct task_case *c,
                       uint64_t seed, struct finding *f)
{
    struct judge_client *j = judge;
    bool first = !j->inputs_sent && !j->fills;
    if (judge_inputs(j, task, c, seed, j->inputs_fd, f))
        return -1;
    /* Now that the judge has its mapping nobody gets another one for writing, whatever a kernel that is native code opens. */
    return first && fcntl(j->inputs_fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)
               ? finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "memory_file_failed",
                             "Linux 5.1 or newer is needed.",
                             "The file of inputs could not be sealed.")
               : 0;
}

static int open_inputs(struct judge_client *j, const struct task *task,
                       const struct task_case *cases, size_t n_cases, struct finding *f)
{
    kgrade_error err = {.code = ""};
    uint64_t bytes;
    if (j->inputs_fd >= 0)
        return 0;
    if (task_largest(task, cases, n_cases, &bytes, &err))
        return finding_infrastructure(f, &err);
    cleanup_close int fd = memfd_create("kgrade-inputs", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
        return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "memory_file_failed", NULL,
                           "No memory for inputs of %llu bytes.", (unsigned long long)bytes);
    j->inputs_fd = steal_fd(&fd);
    return 0;
}

int judge_feed(struct judge_client *j, const struct task *task, const struct task_case *cases,
               size_t n_cases, struct replay *replay, struct finding *f)
{
    char path[64];
    if (!task->python || !replay->worker.jail)
        return 0;
    if (j->fills)
        return replay_feed(replay, -1, make_inputs, j, f);
    if (open_inputs(j, task, cases, n_cases, f))
        return -1;
    /* Kernels may be native code of the replayer: it can read the file, and not write to it. */
    snprintf(path, sizeof path, "/proc/self/fd/%d", j->inputs_fd);
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "memory_file_failed", NULL,
                           "The file of inputs could not be opened for reading.");
    return replay_feed(replay, fd, make_inputs, j, f);
}

int judge_open(kgrade *engine, const struct device *device, const char *target,
               const struct task *task, int arena_fd, struct judge_client *ret, struct finding *f)
{
    kgrade_error err = {.code = ""};
    const struct bytes *library;
    struct reference *reference;
    double budget_s = engine->options.judge_budget_s > 0 ? engine->options.judge_budget_s
                                                         : DEFAULT_JUDGE_BUDGET_S;
    if (!ret->timeout_ns)
        ret->timeout_ns = JUDGE_TIMEOUT_NS;
    if (!ret->budget_ns)
        ret->budget_ns = (uint64_t)(budget_s * (double)IO_NS_PER_S);
    if (task->python)
        return open_python(engine, device, task, arena_fd, ret, f);
    if (build_reference(engine, task, &library, f) ||
        build_device_reference(engine, device, target, task, &reference, f))
        return -1;
    if (worker_take(engine, device, STEP_JUDGE, NULL, &ret->worker, &err))
        return finding_infrastructure(f, &err);
    if (send_task(ret, task, arena_fd, f) ||
        send_library(ret, json_pack("{s:s}", "op", "reference"), library, f))
        return -1;
    return reference ? send_device_reference(engine, ret, reference, f) : 0;
}

int judge_move(struct judge_client *j, int arena_fd, struct finding *f)
{
    cleanup_outcome struct worker_outcome o = WORKER_OUTCOME_NONE;
    return request(j, json_pack("{s:s}", "op", "move"), arena_fd, &o, f);
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
    if (j->inputs_fd >= 0)
        close(j->inputs_fd);
    j->inputs_fd = -1;
    j->inputs_sent = j->fills = false;
}
