/*
 * Answers other than a kernel's.  A candidate sees the dims of a case, so that it can give a cheap answer where it is timed and
 * do the work elsewhere: a cheap answer must be found wrong on every benchmark case.  Correctness cases may be too small to
 * tell (the softmax of one element is 1), but not all of them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../sandbox/base/io.h"
#include "../task/values.h"
#include "kinds.h"

/* What a CPU can judge a dozen times while somebody waits; larger cases are not tried. */
#define LINT_MAX_CASE_BYTES (64ull << 20)
#define LINT_MAX_OPERATIONS 600000000ll

static void trial_end(struct trial *t)
{
    if (t->arena)
        munmap(t->arena, (size_t)t->layout.bytes);
    if (t->fd >= 0)
        close(t->fd);
    free(t->right);
    judge_close(&t->judge);
}

static int trial_begin(struct trial *t, const struct device *device, struct finding *f)
{
    uint64_t random[3];
    io_random(random, sizeof random);
    t->seed = random[0];
    t->poison = random[1];
    t->other_seed = random[2];
    t->fd = memfd_create("kgrade-lint", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (t->fd < 0 || ftruncate(t->fd, (off_t)t->layout.bytes) ||
        fcntl(t->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
        return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "arena_failed", NULL,
                           "No memory for an arena.");
    void *arena = mmap(NULL, (size_t)t->layout.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
    if (arena == MAP_FAILED)
        return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "arena_failed", NULL,
                           "No memory for an arena.");
    t->arena = arena;
    for (size_t i = 0; i < t->layout.n_buffers; i++) {
        const struct layout_buffer *b = &t->layout.buffers[i];
        const struct param *p = &t->lint->task->params[b->param];
        if (p->kind == PARAM_IN && !t->lint->task->python)
            values_fill(t->arena + b->offset, p->dtype, 0, (size_t)b->count, b->count, &b->values,
                        t->seed, (uint32_t)b->param);
        values_canary(t->arena + b->offset + b->bytes, (size_t)b->canary, t->poison,
                      (uint32_t)b->param);
    }
    if (judge_open(t->lint->engine, device, "", t->lint->task, t->fd, &t->judge, f))
        return -1;
    return t->lint->task->python ? trial_foreign_inputs(t, f) : 0;
}

/* What was seen of a kind (and input) over the cases. */
struct tally {
    size_t found_wrong; /* correctness cases that told */
    size_t found_right; /* correctness cases that did not */
    size_t benchmarks;  /* benchmark cases tried */
};

static int try_one(struct trial *t, const struct kind *kind, size_t param, int *ret_outcome,
                   struct judgement *judgement, struct finding *f)
{
    json_int_t id;
    *ret_outcome = kind->make(t, param, f);
    if (*ret_outcome)
        return *ret_outcome < 0 ? -1 : 0;
    return judge_snapshot(&t->judge, t->lint->task, t->at, t->seed, t->poison, &id, f) ||
                   judge_decide(&t->judge, id, judgement, f)
               ? -1
               : 0;
}

static bool passes_again(struct trial *t, const struct kind *kind, size_t param)
{
    struct finding f = {.log = NULL};
    struct judgement judgement = {0};
    int outcome;
    io_random(&t->other_seed, sizeof t->other_seed);
    bool passes = !try_one(t, kind, param, &outcome, &judgement, &f) && judgement.pass;
    json_decref(judgement.correctness);
    finding_free(&f);
    return passes;
}

static void complain(struct lint *l, const struct kind *kind, size_t param,
                     const struct task_case *at)
{
    const char *name = kind->per_input ? l->task->params[param].name : "";
    char values[64] = "";
    if (at->values)
        snprintf(values, sizeof values, " with the values of $.cases.hidden[%zu]", at->values - 1);
    lint_report(l, "answers", false, "%s%s: %s%s%s%s is found %s; %s.",
                lint_dims(l->task, at->dims).text, values, kind->name, *name ? " \"" : "", name,
                *name ? "\"" : "", kind->wanted == FOUND_RIGHT ? "wrong" : "right", kind->fix);
}

/* -1: reported, and the linter need not go on. */
static int try_kind(struct trial *t, const struct task_case *at, const struct kind *kind,
                    size_t param, struct tally *tally)
{
    struct finding f = {.log = NULL};
    struct judgement judgement = {0};
    int outcome;
    if (try_one(t, kind, param, &outcome, &judgement, &f)) {
        lint_report(t->lint, "answers", false, "%s: %s %s%s%s",
                    lint_dims(t->lint->task, t->at->dims).text, f.reason.message, f.reason.hint,
                    f.log ? "\n" : "", f.log ? f.log : "");
        finding_free(&f);
        return -1;
    }
    json_decref(judgement.correctness);
    if (outcome)
        return 0;
    bool benchmark = at->kind == CASE_BENCHMARK;
    tally->benchmarks += benchmark;
    if (!benchmark)
        ++*(judgement.pass ? &tally->found_right : &tally->found_wrong);
    bool defect = kind->wanted == FOUND_RIGHT ? !judgement.pass : judgement.pass && benchmark;
    /* Two samples with the same answer can be chance where an answer is one number. */
    if (!defect || (kind->wanted == FOUND_WRONG && !passes_again(t, kind, param)))
        return 0;
    complain(t->lint, kind, param, at);
    return -1;
}

static int try_case(struct lint *l, const struct device *device, const struct task_case *at,
                    struct tally tallies[LINT_KINDS][TASK_MAX_PARAMS])
{
    struct trial t = {.lint = l, .at = at, .fd = -1, .judge = JUDGE_NONE};
    struct finding f = {.log = NULL};
    int result = task_layout(l->task, at->dims, &t.layout, NULL) ||
                         task_draw_from(l->task, at->values, &t.layout, NULL)
                     ? -1
                     : 0;
    if (!result && trial_begin(&t, device, &f)) {
        lint_report(l, "answers", false, "%s %s%s%s", f.reason.message, f.reason.hint,
                    f.log ? "\n" : "", f.log ? f.log : "");
        finding_free(&f);
        result = -1;
    }
    for (size_t k = 0; k < LINT_KINDS && !result; k++)
        for (size_t p = 0; p < (lint_kinds[k].per_input ? l->task->n_params : 1) && !result; p++) {
            enum param_kind kind = l->task->params[p].kind;
            /* Other values than usual are there to tell, and need not tell everything. */
            bool wanted = !at->values || lint_kinds[k].wanted == FOUND_RIGHT;
            if (wanted && (!lint_kinds[k].per_input || kind == PARAM_IN || kind == PARAM_INOUT))
                result = try_kind(&t, at, &lint_kinds[k], p, &tallies[k][p]);
        }
    trial_end(&t);
    return result;
}

static bool has_output(const struct task *task, const struct layout *layout)
{
    for (size_t i = 0; i < layout->n_buffers; i++)
        if (task->params[layout->buffers[i].param].kind != PARAM_IN && layout->buffers[i].count > 0)
            return true;
    return false;
}

static bool can_be_tried(const struct task *task, const int64_t *dims)
{
    struct layout layout;
    struct expr_scope scope = task_scope(task, dims);
    int64_t operations;
    return !task_layout(task, dims, &layout, NULL) && layout.bytes <= LINT_MAX_CASE_BYTES &&
           !expr_eval(task->roofline_operations, &scope, &operations, NULL) &&
           operations <= LINT_MAX_OPERATIONS && has_output(task, &layout);
}

/* A cheap answer that no correctness case tells from a right one. */
static bool told_apart(struct lint *l, struct tally tallies[LINT_KINDS][TASK_MAX_PARAMS],
                       const struct task_case *last)
{
    for (size_t k = 0; k < LINT_KINDS; k++)
        for (size_t p = 0; p < l->task->n_params; p++) {
            const struct tally *tally = &tallies[k][p];
            if (lint_kinds[k].wanted == FOUND_WRONG && tally->found_right && !tally->found_wrong &&
                !tally->benchmarks) {
                complain(l, &lint_kinds[k], p, last);
                return false;
            }
        }
    return true;
}

/* A case with its own values, then with those of each hidden range that has others. */
static int try_values(struct lint *l, const struct device *device, struct task_case at,
                      struct tally tallies[LINT_KINDS][TASK_MAX_PARAMS])
{
    if (try_case(l, device, &at, tallies))
        return -1;
    for (size_t r = 0; r < l->task->n_hidden; r++) {
        at.values = r + 1;
        if (l->task->hidden[r].has_values && try_case(l, device, &at, tallies))
            return -1;
    }
    return 0;
}

void lint_answers(struct lint *l)
{
    const struct device *device = device_find("opencl");
    struct tally tallies[LINT_KINDS][TASK_MAX_PARAMS] = {0};
    const struct task_case *last = NULL;
    size_t tried = 0;
    for (size_t i = 0; device && i < l->task->n_cases; i++) {
        const struct task_case *at = &l->task->cases[i];
        if (!can_be_tried(l->task, at->dims))
            continue;
        if (try_values(l, device, *at, tallies))
            return;
        last = at;
        tried++;
    }
    if (!tried) {
        lint_report(l, "answers", false,
                    "None of the cases is small enough to try cheap answers: add one with at most "
                    "%llu MiB and %lld operations.",
                    LINT_MAX_CASE_BYTES >> 20, LINT_MAX_OPERATIONS);
        return;
    }
    if (told_apart(l, tallies, last))
        lint_report(l, "answers", true, "cheap answers are found wrong in %zu cases; %zu %s", tried,
                    l->task->n_cases - tried, "are too large to try");
}
