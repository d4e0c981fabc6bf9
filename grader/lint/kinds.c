/*
 * Answers other than a kernel's: cheap ones, which must be found wrong, and the reference's own.  Each is written into the arena of a
 * case, where the judge looks for a kernel's.
 */
#include "kinds.h"

#include <stdlib.h>
#include <string.h>

#include "../task/values.h"

int trial_foreign_inputs(struct trial *t, struct finding *f)
{
    return judge_inputs(&t->judge, t->lint->task, t->at, t->seed, t->fd, f);
}

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
        if (t->lint->task->python && trial_foreign_inputs(t, f))
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

/* --- the table --- */

const struct kind lint_kinds[LINT_KINDS] = {
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
