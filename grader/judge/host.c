#include "host.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../task/values.h"
#include "../worker_io.h"

#define BLOCK 65536u /* elements drawn at a time */

int host_reference_load(struct host_reference *ret, const struct task *task, int library_fd,
                        kgrade_error *err)
{
    if (call_new_reference(task, &ret->call, err))
        return -1;
    ret->task = task;
    void *library = worker_load(library_fd);
    void *symbol = library ? dlsym(library, "reference") : NULL;
    if (!symbol)
        return fail(err, "reference_failed", "Define `reference` in the task's reference.c.",
                    "The task's reference could not be loaded: %s", worker_load_error());
    memcpy(&ret->function, &symbol, sizeof symbol);
    return 0;
}

int host_reference_load_python(struct host_reference *ret, const struct task *task,
                               const struct judge_python *python, const char *files,
                               kgrade_error *err)
{
    if (python->load(task, files, err))
        return -1;
    ret->task = task;
    ret->python = python;
    return 0;
}

void host_reference_free(struct host_reference *reference)
{
    call_free(reference->call);
    *reference = (struct host_reference){.call = NULL};
}

void operands_free(struct operands *o)
{
    for (size_t i = 0; i < o->n; i++)
        free(o->wide[i]);
    free(o->inputs);
}

/* To so many explicit bits of the mantissa, ties to even; exponents are not limited. */
static void round_mantissa(double *values, size_t n, unsigned bits)
{
    for (size_t i = 0; i < n; i++) {
        int exponent;
        double fraction = frexp(values[i], &exponent); /* [1/2, 1): one bit is implicit */
        if (isfinite(fraction))
            values[i] = ldexp(nearbyint(ldexp(fraction, (int)bits + 1)), exponent - (int)bits - 1);
    }
}

/* Draws a buffer's values again, piece by piece: compares them with what is there when it is an input that must not
 * change, and widens them for the reference. */
static int redraw(const struct judge_case *c, const struct layout_buffer *b, const struct param *p,
                  const uint8_t *data, const struct host_twist *twist, void *wide,
                  bool *ret_changed, kgrade_error *err)
{
    uint64_t seed = twist && twist->param == b->param ? twist->seed : c->seed;
    size_t size = dtype_size(p->dtype);
    cleanup_free uint8_t *block = malloc(BLOCK * size);
    if (!block)
        return fail(err, "out_of_memory", NULL, "No memory to draw the inputs again.");
    for (uint64_t at = 0; at < b->count; at += BLOCK) {
        size_t n = b->count - at < BLOCK ? (size_t)(b->count - at) : BLOCK;
        values_fill(block, p->dtype, at, n, b->count, &b->values, seed, (uint32_t)b->param);
        if (data && p->kind == PARAM_IN && memcmp(block, data + b->offset + at * size, n * size))
            *ret_changed = true;
        dtype_widen(p->dtype, block, n, (uint8_t *)wide + at * 8);
        if (twist && twist->mantissa_bits && dtype_is_float(p->dtype))
            round_mantissa((double *)wide + at, n, twist->mantissa_bits);
    }
    return 0;
}

/* --- foreign tasks --- */

static int make_inputs(const struct host_reference *reference, const struct judge_case *c,
                       uint64_t seed, uint8_t **ret, kgrade_error *err)
{
    *ret = calloc(1, (size_t)c->layout.bytes + 1);
    if (!*ret)
        return fail(err, "out_of_memory", NULL, "No memory to make the inputs again.");
    return reference->python->inputs(reference->task, c, seed, false, *ret, err);
}

/* Rounding to fewer bits of the mantissa than the type has gives numbers of the type. */
static void round_stored(const struct param *p, const struct layout_buffer *b, unsigned bits,
                         uint8_t *at)
{
    for (size_t i = 0; i < (size_t)b->count; i++) {
        double value = dtype_load_double(p->dtype, at, i);
        round_mantissa(&value, 1, bits);
        dtype_store_double(p->dtype, at, i, value);
    }
}

static int twist_inputs(const struct host_reference *reference, const struct judge_case *c,
                        const struct host_twist *twist, uint8_t *inputs, kgrade_error *err)
{
    cleanup_free uint8_t *other = NULL;
    if (twist->param != SIZE_MAX && make_inputs(reference, c, twist->seed, &other, err))
        return -1;
    for (size_t i = 0; i < c->layout.n_buffers; i++) {
        const struct layout_buffer *b = &c->layout.buffers[i];
        const struct param *p = &reference->task->params[b->param];
        if (p->kind == PARAM_OUT)
            continue;
        if (b->param == twist->param)
            memcpy(inputs + b->offset, other + b->offset, (size_t)b->bytes);
        if (twist->mantissa_bits && dtype_is_float(p->dtype))
            round_stored(p, b, twist->mantissa_bits, inputs + b->offset);
    }
    return 0;
}

/* Nobody is blamed for an input that the generator would not give twice. */
static int check_repeatable(const struct host_reference *reference, const struct judge_case *c,
                            const uint8_t *first, kgrade_error *err)
{
    cleanup_free uint8_t *second = NULL;
    if (make_inputs(reference, c, c->seed, &second, err))
        return -1;
    return memcmp(first, second, (size_t)c->layout.bytes)
               ? fail(err, "inputs_random", "Describe the task again; it must refuse this.",
                      "The task's generator gives other inputs when it is asked again with the "
                      "same seed.")
               : 0;
}

static int evaluate_python(const struct host_reference *reference, const struct judge_case *c,
                           const uint8_t *data, const struct host_twist *twist,
                           struct operands *ret, bool *ret_changed, kgrade_error *err)
{
    if (make_inputs(reference, c, c->seed, &ret->inputs, err))
        return -1;
    for (size_t i = 0; i < c->layout.n_buffers; i++) {
        const struct layout_buffer *b = &c->layout.buffers[i];
        const struct param *p = &reference->task->params[b->param];
        ret->wide[i] = p->kind == PARAM_IN ? NULL : calloc((size_t)b->count + 1, 8);
        if (!ret->wide[i] && p->kind != PARAM_IN)
            return fail(err, "out_of_memory", NULL, "No memory for the reference's answers.");
        if (data && p->kind == PARAM_IN &&
            memcmp(ret->inputs + b->offset, data + b->offset, (size_t)b->bytes))
            *ret_changed = true;
    }
    if (data && *ret_changed && check_repeatable(reference, c, ret->inputs, err))
        return -1;
    if (twist && twist_inputs(reference, c, twist, ret->inputs, err))
        return -1;
    return reference->python->evaluate(reference->task, c, false, ret->inputs, ret->wide, err);
}

int host_check(const struct host_reference *reference, const struct judge_case *c,
               const uint8_t *data, const struct operands *operands, bool *ret_decided,
               bool *ret_pass, kgrade_error *err)
{
    *ret_decided = false;
    return reference->python ? reference->python->check(reference->task, c, false, operands->inputs,
                                                        data, ret_decided, ret_pass, err)
                             : 0;
}

int host_evaluate(const struct host_reference *reference, const struct judge_case *c,
                  const uint8_t *data, const struct host_twist *twist, struct operands *ret,
                  bool *ret_changed, kgrade_error *err)
{
    *ret = (struct operands){.n = c->layout.n_buffers};
    if (reference->python)
        return evaluate_python(reference, c, data, twist, ret, ret_changed, err);
    call_set_dims(reference->call, c->dims);
    for (size_t i = 0; i < c->layout.n_buffers; i++) {
        const struct layout_buffer *b = &c->layout.buffers[i];
        const struct param *p = &reference->task->params[b->param];
        ret->wide[i] = calloc((size_t)b->count + 1, 8);
        if (!ret->wide[i])
            return fail(err, "out_of_memory", NULL, "No memory for the reference's operands.");
        if (p->kind != PARAM_OUT && redraw(c, b, p, data, twist, ret->wide[i], ret_changed, err))
            return -1;
        call_set_pointer(reference->call, b->param, ret->wide[i]);
    }
    call_invoke(reference->call, reference->function);
    return 0;
}

static int compare_one(const struct task *task, const struct judge_case *c,
                       const struct layout_buffer *b, const uint8_t *data, const void *wide,
                       struct comparison *ret, kgrade_error *err)
{
    const struct param *p = &task->params[b->param];
    const struct tolerance *tolerance = task_tolerance(task, p->dtype);
    compare_output(p->dtype, data + b->offset, NULL, wide, b->count, tolerance, ret);
    if (p->kind != PARAM_OUT || ret->bad == 0)
        return 0;
    /* Of what is right nobody asks whether it was written; drawing the poison takes as long as comparing. */
    cleanup_free uint8_t *poison = malloc((size_t)b->bytes + 1);
    if (!poison)
        return fail(err, "out_of_memory", NULL, "No memory to compare an output.");
    values_poison(poison, p->dtype, 0, (size_t)b->count, c->poison, (uint32_t)b->param);
    compare_output(p->dtype, data + b->offset, poison, wide, b->count, tolerance, ret);
    return 0;
}

int host_compare(const struct task *task, const struct judge_case *c, const uint8_t *data,
                 const struct operands *operands, struct comparison *ret, kgrade_error *err)
{
    for (size_t i = 0; i < c->layout.n_buffers; i++) {
        const struct layout_buffer *b = &c->layout.buffers[i];
        if (task->params[b->param].kind != PARAM_IN &&
            compare_one(task, c, b, data, operands->wide[i], &ret[i], err))
            return -1;
    }
    return 0;
}

/* Rounds the reference's values to a dtype, into the bytes of a buffer. */
static void narrow(enum dtype type, const void *wide, size_t n, void *to)
{
    if (type == DTYPE_I64) {
        memcpy(to, wide, n * 8);
        return;
    }
    for (size_t i = 0; i < n; i++)
        dtype_store_double(type, to, i,
                           dtype_is_float(type) ? ((const double *)wide)[i]
                                                : (double)((const int64_t *)wide)[i]);
}

int host_answer(const struct host_reference *reference, const struct judge_case *c,
                const struct host_twist *twist, uint8_t *arena, kgrade_error *err)
{
    cleanup_operands struct operands expected = {.n = 0};
    bool changed;
    if (host_evaluate(reference, c, NULL, twist, &expected, &changed, err))
        return -1;
    for (size_t i = 0; i < c->layout.n_buffers; i++) {
        const struct layout_buffer *b = &c->layout.buffers[i];
        const struct param *p = &reference->task->params[b->param];
        if (p->kind != PARAM_IN)
            narrow(p->dtype, expected.wide[i], (size_t)b->count, arena + b->offset);
    }
    return 0;
}
