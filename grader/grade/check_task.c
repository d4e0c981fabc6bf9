/*
 * The task linter: a task is fit for use when its files agree with each other and when answers that cost nothing
 * do not pass.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../judge/judge.h"
#include "../task/values.h"
#include "grade.h"

#define LINT_MAX_CASE_BYTES (256ull << 20) /* larger cases are not tried with cheap answers */

struct lint {
    kgrade *engine;
    const struct task *task;
    json_t *findings;
    bool passed;
};

__attribute__((format(printf, 4, 5))) static void report(struct lint *l, const char *check, bool ok,
                                                         const char *format, ...)
{
    char detail[1200];
    va_list ap;
    va_start(ap, format);
    vsnprintf(detail, sizeof detail, format, ap);
    va_end(ap);
    json_array_append_new(l->findings,
                          json_pack("{s:s, s:b, s:s}", "check", check, "ok", ok, "detail", detail));
    l->passed = l->passed && ok;
}

static void dims_text(const struct task *task, const int64_t *dims, char *ret, size_t size)
{
    json_t *json = task_dims_json(task, dims);
    cleanup_free char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    snprintf(ret, size, "%s", text ? text : "?");
}

static void check_shapes(struct lint *l)
{
    for (size_t i = 0; i < l->task->n_cases; i++) {
        struct layout layout;
        struct expr_scope scope = task_scope(l->task, l->task->cases[i].dims);
        kgrade_error err = {.code = ""};
        int64_t bytes, operations;
        char dims[256];
        dims_text(l->task, l->task->cases[i].dims, dims, sizeof dims);
        if (task_layout(l->task, l->task->cases[i].dims, &layout, &err) ||
            expr_eval(l->task->roofline_bytes, &scope, &bytes, &err) ||
            expr_eval(l->task->roofline_operations, &scope, &operations, &err)) {
            report(l, "shapes", false, "%s: %s", dims, err.message);
            return;
        }
        if (bytes < 0 || operations < 0) {
            report(l, "shapes", false, "%s: the roofline formulas give a negative number.", dims);
            return;
        }
    }
    report(l, "shapes", true, "%zu cases have shapes and roofline figures", l->task->n_cases);
}

/* Answers that take no work. */
enum cheap { CHEAP_ZEROS, CHEAP_ONES, CHEAP_POISON, CHEAP_INPUT, CHEAP_KINDS };
static const char *const cheap_names[CHEAP_KINDS] = {"zeros", "ones", "an unwritten output",
                                                     "a copy of an input"};

static void cheap_output(const struct task *task, const struct layout *layout,
                         const struct layout_buffer *b, enum cheap kind, uint64_t poison,
                         uint8_t *arena)
{
    const struct param *p = &task->params[b->param];
    uint8_t *at = arena + b->offset;
    memset(at, 0, (size_t)b->bytes);
    if (kind == CHEAP_ONES)
        for (uint64_t i = 0; i < b->count; i++)
            dtype_store_double(p->dtype, at, (size_t)i, 1);
    if (kind == CHEAP_POISON)
        values_poison(at, p->dtype, 0, (size_t)b->count, poison, (uint32_t)b->param);
    for (size_t i = 0; kind == CHEAP_INPUT && i < layout->n_buffers; i++) {
        const struct layout_buffer *from = &layout->buffers[i];
        if (task->params[from->param].kind == PARAM_IN &&
            task->params[from->param].dtype == p->dtype && b->count > 0) {
            for (uint64_t at_byte = 0; at_byte < b->bytes && from->bytes > 0;
                 at_byte += from->bytes)
                memcpy(
                    at + at_byte, arena + from->offset,
                    (size_t)(b->bytes - at_byte < from->bytes ? b->bytes - at_byte : from->bytes));
            return;
        }
    }
}

static void fill_arena(const struct task *task, const struct layout *layout, enum cheap kind,
                       const uint64_t seeds[2], uint8_t *arena)
{
    for (size_t i = 0; i < layout->n_buffers; i++) {
        const struct layout_buffer *b = &layout->buffers[i];
        const struct param *p = &task->params[b->param];
        if (p->kind != PARAM_OUT)
            values_fill(arena + b->offset, p->dtype, 0, (size_t)b->count, b->count, &p->values,
                        seeds[0], (uint32_t)b->param);
        values_canary(arena + b->offset + b->bytes, (size_t)b->canary, seeds[1],
                      (uint32_t)b->param);
    }
    for (size_t i = 0; i < layout->n_buffers; i++)
        if (task->params[layout->buffers[i].param].kind == PARAM_OUT)
            cheap_output(task, layout, &layout->buffers[i], kind, seeds[1], arena);
}

/* Judges one cheap answer in a process of its own, as a candidate's would be. */
static int judge_cheap(struct lint *l, const struct device *device, const int64_t *dims,
                       const struct layout *layout, enum cheap kind, bool *ret_pass,
                       struct finding *f)
{
    uint64_t seeds[2];
    io_random(seeds, sizeof seeds);
    cleanup_close int fd = memfd_create("kgrade-lint", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)layout->bytes) ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
        return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "arena_failed", NULL,
                           "No memory for an arena.");
    uint8_t *arena = mmap(NULL, layout->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (arena == MAP_FAILED)
        return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "arena_failed", NULL,
                           "No memory for an arena.");
    fill_arena(l->task, layout, kind, seeds, arena);
    munmap(arena, layout->bytes);
    cleanup_judge struct judge_client judge = JUDGE_NONE;
    struct judgement judgement = {0};
    json_int_t id;
    if (judge_open(l->engine, device, "", l->task, fd, &judge, f) ||
        judge_snapshot(&judge, l->task, dims, seeds[0], seeds[1], &id, f) ||
        judge_decide(&judge, id, &judgement, f))
        return -1;
    json_decref(judgement.correctness);
    *ret_pass = judgement.pass;
    return 0;
}

static bool has_output(const struct task *task, const struct layout *layout)
{
    for (size_t i = 0; i < layout->n_buffers; i++)
        if (task->params[layout->buffers[i].param].kind == PARAM_OUT &&
            layout->buffers[i].count > 0)
            return true;
    return false;
}

static void check_cheap_answers(struct lint *l)
{
    const struct device *device = device_find("opencl");
    size_t tried = 0;
    for (size_t i = 0; device && i < l->task->n_cases; i++) {
        const int64_t *dims = l->task->cases[i].dims;
        struct layout layout;
        if (task_layout(l->task, dims, &layout, NULL) || layout.bytes > LINT_MAX_CASE_BYTES ||
            !has_output(l->task, &layout) || l->task->cases[i].kind != CASE_CORRECTNESS)
            continue;
        for (int kind = 0; kind < CHEAP_KINDS; kind++) {
            struct finding f = {.log = NULL};
            bool pass = false;
            char text[256];
            dims_text(l->task, dims, text, sizeof text);
            if (judge_cheap(l, device, dims, &layout, (enum cheap)kind, &pass, &f)) {
                report(l, "cheap_answers", false, "%s: %s%s%s", text, f.reason.message,
                       f.log ? "\n" : "", f.log ? f.log : "");
                finding_free(&f);
                return;
            }
            if (pass) {
                report(l, "cheap_answers", false,
                       "%s: %s passes; change the values' distribution or tighten the tolerance.",
                       text, cheap_names[kind]);
                return;
            }
            tried++;
        }
    }
    report(l, "cheap_answers", tried > 0,
           tried ? "%zu cheap answers were all found wrong" : "%zu answers could be tried", tried);
}

static bool device_missing(const kgrade_result *result)
{
    json_t *json = json_loads(kgrade_result_json(result), 0, NULL);
    const char *code = json_string_value(json_object_get(json_object_get(json, "reason"), "code"));
    bool missing =
        code && (!strcmp(code, "device_unavailable") || !strcmp(code, "device_failed") ||
                 !strcmp(code, "device_quarantined") || !strcmp(code, "compiler_missing"));
    json_decref(json);
    return missing;
}

/* The baseline must be accepted as a candidate; a verdict about its speed alone is no matter here. */
static void check_baseline(struct lint *l, const struct device *device)
{
    char check[64];
    const struct bytes *source = task_file(l->task, device->languages[0].baseline);
    kgrade_error err = {.code = ""};
    kgrade_result *result = NULL;
    snprintf(check, sizeof check, "baseline: %s", device->name);
    if (!source) {
        report(l, check, true, "there is none; the task cannot be graded on this device");
        return;
    }
    const kgrade_request request = {.source = (const char *)source->data,
                                    .source_size = source->size};
    if (grade_source(l->engine, l->task, device, &device->languages[0], &request, NULL, NULL,
                     &result, &err)) {
        report(l, check, false, "%s", err.message);
        return;
    }
    kgrade_verdict verdict = kgrade_result_verdict(result);
    /* A machine without the device says nothing about the task. */
    bool elsewhere = verdict == KGRADE_INFRASTRUCTURE_ERROR && device_missing(result);
    bool ok = verdict == KGRADE_ACCEPTED || verdict == KGRADE_UNRESOLVED || elsewhere;
    json_t *json = json_loads(kgrade_result_json(result), 0, NULL);
    const char *message =
        json_string_value(json_object_get(json_object_get(json, "reason"), "message"));
    if (elsewhere)
        report(l, check, true, "not tried: %s", message ? message : "the device is not here");
    else if (ok)
        report(l, check, true, "%s, score %.3f against itself", kgrade_verdict_name(verdict),
               kgrade_result_score(result));
    else
        report(l, check, false, "%s: %s", kgrade_verdict_name(verdict), message ? message : "");
    json_decref(json);
    kgrade_result_free(result);
}

int kgrade_check_task(kgrade *engine, const char *folder, bool *ret_passed, char **ret_json,
                      kgrade_error *err)
{
    cleanup_task struct task *task = NULL;
    kgrade_error problem = {.code = ""};
    struct lint l = {.engine = engine, .findings = json_array(), .passed = true};
    if (task_load(folder, &task, &problem)) {
        report(&l, "task.json", false, "%s %s", problem.message, problem.hint);
    } else {
        l.task = task;
        report(&l, "task.json", true, "%zu parameters, %zu cases", task->n_params, task->n_cases);
        check_shapes(&l);
        if (l.passed)
            check_cheap_answers(&l);
        for (size_t i = 0; l.passed && device_registry[i]; i++)
            if (task_devices_include(task->devices, device_registry[i]->name))
                check_baseline(&l, device_registry[i]);
    }
    json_t *json = json_pack("{s:s, s:b, s:o}", "task", task ? task->name : folder, "passed",
                             l.passed, "findings", l.findings);
    *ret_passed = l.passed;
    *ret_json = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
    json_decref(json);
    return *ret_json ? 0
                     : fail(err, "out_of_memory", NULL, "The report could not be written as JSON.");
}
