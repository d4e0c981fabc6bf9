/*
 * Answers other than a kernel's.  A candidate sees the dims of a case, so that it can give a cheap answer where it is timed and
 * do the work elsewhere: a cheap answer must be found wrong on every benchmark case.  Correctness cases may be too small to
 * tell (the softmax of one element is 1), but not all of them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/io.h"
#include "../judge/judge.h"
#include "../task/values.h"
#include "lint.h"

/* What a CPU can judge a dozen times while somebody waits; larger cases are not tried. */
#define LINT_MAX_CASE_BYTES (64ull << 20)
#define LINT_MAX_OPERATIONS 600000000ll

/* One case with an arena and a judge. */
struct trial {
    struct lint *lint;
    const struct task_case *at;
    struct layout layout;
    uint64_t seed, poison, other_seed;
    int fd;
    uint8_t *arena;
    uint8_t *right; /* the arena with the reference's answer; NULL before it was asked for */
    struct judge_client judge;
};

static void trial_end(struct trial *t)
{
    if (t->arena)
        munmap(t->arena, (size_t)t->layout.bytes);
    if (t->fd >= 0)
        close(t->fd);
    free(t->right);
    judge_close(&t->judge);
}

/* A foreign task's inputs come from its judge. */
static int foreign_inputs(struct trial *t, struct finding *f)
{
    return judge_inputs(&t->judge, t->lint->task, t->at, t->seed, t->fd, f);
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
    return t->lint->task->python ? foreign_inputs(t, f) : 0;
}

/* --- the answers --- */

/* An output while an answer is made. */
struct output {
    const struct param *param;
    const struct layout_buffer *buffer;
    uint8_t *at;
    size_t size; /* of an element */
};

static bool next_output(const struct trial *t, size_t *index, struct output *ret)
{
    for (; *index < t->layout.n_buffers; ++*index) {
        const struct layout_buffer *b = &t->layout.buffers[*index];
        const struct param *p = &t->lint->task->params[b->param];
        if (p->kind == PARAM_IN || b->count == 0)
            continue;
        *ret = (struct output){p, b, t->arena + b->offset, dtype_size(p->dtype)};
        ++*index;
        return true;
    }
    return false;
}

/* Makes the answer in the arena.  1: this kind of answer means nothing in this case; -1 with f. */
typedef int answer_maker(struct trial *t, size_t param, struct finding *f);

static int right(struct trial *t, size_t param, struct finding *f)
{
    (void)param;
    if (t->right) {
        memcpy(t->arena, t->right, (size_t)t->layout.bytes);
        return 0;
    }
    if (judge_answer(&t->judge, t->lint->task, t->at, t->seed, NULL, t->fd, f))
        return -1;
    t->right = malloc((size_t)t->layout.bytes);
    if (t->right) /* else it is asked for again */
        memcpy(t->right, t->arena, (size_t)t->layout.bytes);
    return 0;
}

static int fill(struct trial *t, double value)
{
    struct output o;
    for (size_t i = 0; next_output(t, &i, &o);)
        for (uint64_t j = 0; j < o.buffer->count; j++)
            dtype_store_double(o.param->dtype, o.at, (size_t)j, value);
    return 0;
}

static int zeros(struct trial *t, size_t param, struct finding *f)
{
    (void)param, (void)f;
    return fill(t, 0);
}

static int ones(struct trial *t, size_t param, struct finding *f)
{
    (void)param, (void)f;
    return fill(t, 1);
}

/* Each output's mean, of the right answer. */
static int constant(struct trial *t, size_t param, struct finding *f)
{
    struct output o;
    bool several = false;
    if (right(t, param, f))
        return -1;
    for (size_t i = 0; next_output(t, &i, &o);) {
        double sum = 0;
        uint64_t n = o.buffer->count;
        for (uint64_t j = 0; j < n; j++)
            sum += dtype_load_double(o.param->dtype, o.at, (size_t)j);
        for (uint64_t j = 0; j < n; j++)
            dtype_store_double(o.param->dtype, o.at, (size_t)j, sum / (double)n);
        several = several || n > 1;
    }
    return several ? 0 : 1;
}

static int unwritten(struct trial *t, size_t param, struct finding *f)
{
    struct output o;
    (void)param, (void)f;
    for (size_t i = 0; next_output(t, &i, &o);)
        values_poison(o.at, o.param->dtype, 0, (size_t)o.buffer->count, t->poison,
                      (uint32_t)o.buffer->param);
    return 0;
}

static int one_unwritten(struct trial *t, size_t param, struct finding *f)
{
    struct output o;
    if (right(t, param, f))
        return -1;
    for (size_t i = 0; next_output(t, &i, &o);) {
        size_t middle = (size_t)(o.buffer->count / 2);
        values_poison(o.at + middle * o.size, o.param->dtype, middle, 1, t->poison,
                      (uint32_t)o.buffer->param);
    }
    return 0;
}

static int shifted(struct trial *t, size_t param, struct finding *f)
{
    struct output o;
    bool several = false;
    if (right(t, param, f))
        return -1;
    for (size_t i = 0; next_output(t, &i, &o);) {
        uint8_t first[8];
        size_t rest = (size_t)(o.buffer->count - 1) * o.size;
        memcpy(first, o.at, o.size);
        memmove(o.at, o.at + o.size, rest);
        memcpy(o.at + rest, first, o.size);
        several = several || rest;
    }
    return several ? 0 : 1;
}

static int of_another_sample(struct trial *t, size_t param, struct finding *f)
{
    (void)param;
    return judge_answer(&t->judge, t->lint->task, t->at, t->other_seed, NULL, t->fd, f);
}

/* An input, repeated until the output is full. */
static int copy_of(struct trial *t, size_t param, struct finding *f)
{
    const struct layout_buffer *from = NULL;
    struct output o;
    bool any = false;
    for (size_t i = 0; i < t->layout.n_buffers; i++)
        if (t->layout.buffers[i].param == param)
            from = &t->layout.buffers[i];
    if (!from || from->bytes == 0)
        return 1;
    if (t->lint->task->params[param].kind == PARAM_INOUT) {
        if (t->lint->task->python && foreign_inputs(t, f))
            return -1;
        if (!t->lint->task->python)
            values_fill(t->arena + from->offset, t->lint->task->params[param].dtype, 0,
                        (size_t)from->count, from->count, &from->values, t->seed, (uint32_t)param);
        any = true;
    }
    (void)f;
    for (size_t i = 0; next_output(t, &i, &o);) {
        if (o.param->dtype != t->lint->task->params[param].dtype || o.buffer == from)
            continue;
        any = true;
        for (uint64_t at = 0; at < o.buffer->bytes; at += from->bytes)
            memcpy(
                o.at + at, t->arena + from->offset,
                (size_t)(o.buffer->bytes - at < from->bytes ? o.buffer->bytes - at : from->bytes));
    }
    return any ? 0 : 1;
}

static int without(struct trial *t, size_t param, struct finding *f)
{
    const struct judge_twist twist = {param, t->other_seed, 0};
    for (size_t i = 0; i < t->layout.n_buffers; i++)
        if (t->layout.buffers[i].param == param && t->layout.buffers[i].count == 0)
            return 1;
    return judge_answer(&t->judge, t->lint->task, t->at, t->seed, &twist, t->fd, f);
}

/* --- precision --- */

/* What a kernel of the task may round its inputs to: as the task says, else the widest of its floating-point inputs, or what
 * its outputs hold if that is less.  0: nothing to round. */
static unsigned allowed_bits(const struct task *task)
{
    unsigned in = 0, out = 0, said = 0;
    for (size_t i = 0; i < task->n_params; i++) {
        const struct param *p = &task->params[i];
        unsigned bits = param_is_buffer(p) ? dtype_mantissa_bits(p->dtype) : 0;
        if (p->kind != PARAM_OUT && bits > in)
            in = bits;
        if (p->kind != PARAM_IN && bits > out)
            out = bits;
    }
    for (size_t i = 0; i < task->n_tolerances; i++)
        if (task->tolerances[i].precision > said)
            said = task->tolerances[i].precision;
    if (!in || !out)
        return 0;
    return said ? said : in < out ? in : out;
}

/* The next narrower arithmetic that devices have.  0: there is none. */
static unsigned lower_bits(unsigned bits)
{
    static const unsigned known[] = {23, 10, 7, 3};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i] < bits)
            return known[i];
    return 0;
}

static int rounded_to(struct trial *t, unsigned bits, struct finding *f)
{
    const struct judge_twist twist = {SIZE_MAX, 0, bits};
    return bits ? judge_answer(&t->judge, t->lint->task, t->at, t->seed, &twist, t->fd, f) : 1;
}

static int allowed_precision(struct trial *t, size_t param, struct finding *f)
{
    (void)param;
    return rounded_to(t, allowed_bits(t->lint->task), f);
}

static int lower_precision(struct trial *t, size_t param, struct finding *f)
{
    (void)param;
    return rounded_to(t, lower_bits(allowed_bits(t->lint->task)), f);
}

/* --- the check --- */

enum wanted { FOUND_RIGHT, FOUND_WRONG };

struct kind {
    const char *name;
    answer_maker *make;
    bool per_input; /* one for each input */
    enum wanted wanted;
    const char *fix;
};

static const struct kind kinds[] = {
    {"the reference's answer", right, false, FOUND_RIGHT,
     "an output that overflows its dtype cannot be compared"},
    {"zeros", zeros, false, FOUND_WRONG, "choose other values or tighten the tolerance"},
    {"ones", ones, false, FOUND_WRONG, "choose other values or tighten the tolerance"},
    {"a constant", constant, false, FOUND_WRONG,
     "choose values that make the outputs differ, or tighten the tolerance"},
    {"an unwritten output", unwritten, false, FOUND_WRONG, "tighten the tolerance"},
    {"an output with an unwritten element", one_unwritten, false, FOUND_WRONG,
     "lower \"absolute\" and \"relative\" of the tolerance"},
    {"an output shifted by one element", shifted, false, FOUND_WRONG,
     "choose values that make the outputs differ, or tighten the tolerance"},
    {"the answer to another sample", of_another_sample, false, FOUND_WRONG,
     "the outputs must depend on the inputs' values"},
    {"a copy of input", copy_of, true, FOUND_WRONG, "choose other values or tighten the tolerance"},
    {"an answer without input", without, true, FOUND_WRONG,
     "give the input values that matter, or take it out"},
    {"an answer from inputs rounded to the precision that the task allows", allowed_precision,
     false, FOUND_RIGHT, "loosen the tolerance, or name a higher \"precision\" there"},
    {"an answer from inputs rounded below the precision that the task allows", lower_precision,
     false, FOUND_WRONG,
     "tighten the tolerance, choose values that round badly, or name a lower \"precision\" there"},
};

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

#define N_KINDS (sizeof kinds / sizeof kinds[0])

static int try_case(struct lint *l, const struct device *device, const struct task_case *at,
                    struct tally tallies[N_KINDS][TASK_MAX_PARAMS])
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
    for (size_t k = 0; k < N_KINDS && !result; k++)
        for (size_t p = 0; p < (kinds[k].per_input ? l->task->n_params : 1) && !result; p++) {
            enum param_kind kind = l->task->params[p].kind;
            /* Other values than usual are there to tell, and need not tell everything. */
            bool wanted = !at->values || kinds[k].wanted == FOUND_RIGHT;
            if (wanted && (!kinds[k].per_input || kind == PARAM_IN || kind == PARAM_INOUT))
                result = try_kind(&t, at, &kinds[k], p, &tallies[k][p]);
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
static bool told_apart(struct lint *l, struct tally tallies[N_KINDS][TASK_MAX_PARAMS],
                       const struct task_case *last)
{
    for (size_t k = 0; k < N_KINDS; k++)
        for (size_t p = 0; p < l->task->n_params; p++) {
            const struct tally *tally = &tallies[k][p];
            if (kinds[k].wanted == FOUND_WRONG && tally->found_right && !tally->found_wrong &&
                !tally->benchmarks) {
                complain(l, &kinds[k], p, last);
                return false;
            }
        }
    return true;
}

/* A case with its own values, then with those of each hidden range that has others. */
static int try_values(struct lint *l, const struct device *device, struct task_case at,
                      struct tally tallies[N_KINDS][TASK_MAX_PARAMS])
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
    struct tally tallies[N_KINDS][TASK_MAX_PARAMS] = {0};
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
