#include "on_device.h"

#include <stdlib.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"

/* Of one sample; 0: not taken. */
struct workplace {
    const struct on_device *d;
    uint64_t inputs; /* made again, where the layout has them */
    uint64_t poison; /* the same for outputs */
    uint64_t wide[TASK_MAX_PARAMS];
};

static void give_back(const struct on_device *d, uint64_t at)
{
    if (at)
        d->memory->give_back(d->state, at);
}

static void clear(struct workplace *w)
{
    give_back(w->d, w->inputs);
    give_back(w->d, w->poison);
    for (size_t i = 0; i < TASK_MAX_PARAMS; i++)
        give_back(w->d, w->wide[i]);
}
#define cleanup_workplace __attribute__((cleanup(clear)))

static int take(const struct on_device *d, uint64_t bytes, uint64_t *ret, kgrade_error *err)
{
    return d->memory->take(d->state, bytes, ret, err);
}

static uint8_t *pointer(uint64_t at)
{
    return (uint8_t *)(uintptr_t)at; /* NOLINT: a device's address, which nobody follows here */
}

static const struct param *param_of(const struct on_device *d, const struct judge_case *c, size_t i)
{
    return &d->task->params[c->layout.buffers[i].param];
}

int on_device_fill(const struct on_device *d, const struct judge_case *c, kgrade_error *err)
{
    uint64_t arena;
    return d->memory->arena(d->state, c->layout.bytes, &arena, err)
               ? -1
               : d->python->inputs(d->task, c, c->seed, true, pointer(arena), err);
}

int on_device_keep(const struct on_device *d, const struct judge_case *c, uint64_t *ret_kept,
                   kgrade_error *err)
{
    uint64_t kept;
    if (take(d, c->layout.bytes, &kept, err))
        return -1;
    for (size_t i = 0; i < c->layout.n_buffers; i++) {
        const struct layout_buffer *b = &c->layout.buffers[i];
        if (d->memory->copy(d->state, b->offset, b->bytes, kept + b->offset, err)) {
            give_back(d, kept);
            return -1;
        }
    }
    *ret_kept = kept;
    return 0;
}

int on_device_bring(const struct on_device *d, const struct judge_case *c, uint64_t kept,
                    uint8_t **ret, kgrade_error *err)
{
    cleanup_free uint8_t *data = malloc((size_t)c->layout.bytes);
    if (!data)
        return fail(err, "out_of_memory", NULL, "No memory for a snapshot of %llu bytes.",
                    (unsigned long long)c->layout.bytes);
    for (size_t i = 0; i < c->layout.n_buffers; i++) {
        const struct layout_buffer *b = &c->layout.buffers[i];
        if (d->memory->fetch(kept + b->offset, b->bytes, data + b->offset, err))
            return -1;
    }
    *ret = steal_pointer(&data);
    return 0;
}

void on_device_drop(const struct on_device *d, uint64_t kept)
{
    give_back(d, kept);
}

/* Whether the bytes of all inputs, or of those that must not change, are the same in two places. */
static int same_inputs(const struct on_device *d, const struct judge_case *c, uint64_t a,
                       uint64_t b, bool all, bool *ret, kgrade_error *err)
{
    *ret = true;
    for (size_t i = 0; i < c->layout.n_buffers && *ret; i++) {
        const struct layout_buffer *buffer = &c->layout.buffers[i];
        enum param_kind kind = param_of(d, c, i)->kind;
        if ((kind == PARAM_IN || (all && kind == PARAM_INOUT)) &&
            d->memory->same(d->state, a + buffer->offset, b + buffer->offset, buffer->bytes, ret,
                            err))
            return -1;
    }
    return 0;
}

/* Nobody is blamed for an input that the generator would not give twice. */
static int check_repeatable(const struct on_device *d, const struct judge_case *c, uint64_t first,
                            kgrade_error *err)
{
    uint64_t second;
    bool same = true;
    if (take(d, c->layout.bytes, &second, err))
        return -1;
    int result = d->python->inputs(d->task, c, c->seed, true, pointer(second), err) ||
                 same_inputs(d, c, first, second, true, &same, err);
    give_back(d, second);
    if (!result && !same)
        return fail(err, "inputs_random", "Describe the task again; it must refuse this.",
                    "The task's generator gives other inputs when it is asked again with the "
                    "same seed.");
    return result ? -1 : 0;
}

static int make_inputs(const struct on_device *d, const struct judge_case *c, uint64_t kept,
                       struct workplace *w, bool *ret_changed, kgrade_error *err)
{
    bool same;
    if (take(d, c->layout.bytes, &w->inputs, err) ||
        d->python->inputs(d->task, c, c->seed, true, pointer(w->inputs), err) ||
        same_inputs(d, c, w->inputs, kept, false, &same, err) ||
        (!same && check_repeatable(d, c, w->inputs, err)))
        return -1;
    *ret_changed = !same;
    return 0;
}

static int run_reference(const struct on_device *d, const struct judge_case *c, struct workplace *w,
                         kgrade_error *err)
{
    void *wide[TASK_MAX_PARAMS] = {NULL};
    for (size_t i = 0; i < c->layout.n_buffers; i++) {
        if (param_of(d, c, i)->kind == PARAM_IN)
            continue;
        if (take(d, c->layout.buffers[i].count * 8, &w->wide[i], err))
            return -1;
        wide[i] = pointer(w->wide[i]);
    }
    return d->python->evaluate(d->task, c, true, pointer(w->inputs), wide, err);
}

/* Poison is drawn when something is wrong: of what is right nobody asks whether it was written. */
static int compare_one(const struct on_device *d, const struct judge_case *c, size_t i,
                       uint64_t kept, struct workplace *w, struct comparison *ret,
                       kgrade_error *err)
{
    const struct layout_buffer *b = &c->layout.buffers[i];
    const struct param *p = param_of(d, c, i);
    const struct tolerance *tolerance = task_tolerance(d->task, p->dtype);
    if (d->memory->compare(d->state, p->dtype, kept + b->offset, 0, w->wide[i], b->count, tolerance,
                           ret, err))
        return -1;
    if (p->kind != PARAM_OUT || ret->bad == 0)
        return 0;
    if (!w->poison && (take(d, c->layout.bytes, &w->poison, err) ||
                       d->memory->poison(d->state, d->task, c, w->poison, err)))
        return -1;
    return d->memory->compare(d->state, p->dtype, kept + b->offset, w->poison + b->offset,
                              w->wide[i], b->count, tolerance, ret, err);
}

int on_device_judge(const struct on_device *d, const struct judge_case *c, uint64_t kept,
                    struct comparison *comparisons, struct on_device_verdict *ret,
                    kgrade_error *err)
{
    cleanup_workplace struct workplace w = {.d = d};
    struct on_device_verdict verdict = {.decided = false};
    if (make_inputs(d, c, kept, &w, &verdict.input_changed, err) || run_reference(d, c, &w, err))
        return -1;
    for (size_t i = 0; i < c->layout.n_buffers; i++)
        if (param_of(d, c, i)->kind != PARAM_IN &&
            compare_one(d, c, i, kept, &w, &comparisons[i], err))
            return -1;
    if (d->python->check(d->task, c, true, pointer(w.inputs), pointer(kept), &verdict.decided,
                         &verdict.right, err))
        return -1;
    *ret = verdict;
    return 0;
}
