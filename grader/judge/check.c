/* A device's reference against the C one. */
#include <math.h>
#include <stdlib.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "host.h"

#define JUDGE_MAX_CHECKED_ELEMENTS (1u << 20) /* of all buffers of a case together */

/* What two double-precision computations of the same may differ by, relative to the element or to the output's root mean
 * square, whichever is larger: they may add in different orders. */
#define JUDGE_REFERENCE_PRECISION 1e-12

static int lay_out(const struct task *task, size_t index, struct judge_case *ret,
                   uint64_t *ret_elements, kgrade_error *err)
{
    static const struct judge_case none;
    *ret = none;
    for (size_t i = 0; i < task->n_dims; i++)
        ret->dims[i] = task->cases[index].dims[i];
    /* Any numbers will do; these are different for every case and the same in every process. */
    ret->seed = 0x9e3779b97f4a7c15ull * (index + 1);
    ret->poison = ~ret->seed;
    if (task_layout(task, ret->dims, &ret->layout, err))
        return -1;
    *ret_elements = 0;
    for (size_t i = 0; i < ret->layout.n_buffers; i++)
        *ret_elements += ret->layout.buffers[i].count;
    return 0;
}

static double root_mean_square(const double *values, uint64_t count)
{
    double sum = 0;
    for (uint64_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            sum += values[i] * values[i];
    return count ? sqrt(sum / (double)count) : 0;
}

static int compare_outputs(const struct task *task, const struct judge_case *c,
                           const struct operands *expected, const struct operands *got,
                           kgrade_error *err)
{
    for (size_t i = 0; i < c->layout.n_buffers; i++) {
        const struct layout_buffer *b = &c->layout.buffers[i];
        const struct param *p = &task->params[b->param];
        if (p->kind == PARAM_IN)
            continue;
        bool is_float = dtype_is_float(p->dtype);
        struct tolerance tolerance = {.relative = JUDGE_REFERENCE_PRECISION,
                                      .norm = JUDGE_REFERENCE_PRECISION};
        if (is_float)
            tolerance.absolute =
                JUDGE_REFERENCE_PRECISION * root_mean_square(expected->wide[i], b->count);
        struct comparison comparison;
        compare_output(is_float ? DTYPE_F64 : DTYPE_I64, got->wide[i], NULL, expected->wide[i],
                       b->count, is_float ? &tolerance : NULL, &comparison);
        if (!comparison_passes(&comparison))
            return fail(err, "reference_disagrees",
                        "Mend the task: both references must compute the same in double precision.",
                        "The device's reference of task %s is not the one in reference.c: element "
                        "%llu of %s is %.17g instead of %.17g in a case with %llu elements.",
                        task->name, (unsigned long long)comparison.worst_index, p->name,
                        comparison.worst_got, comparison.worst_expected,
                        (unsigned long long)b->count);
    }
    return 0;
}

static int check_case(const struct host_reference *reference, const struct judge_device *device,
                      void *state, const struct judge_case *c, kgrade_error *err)
{
    cleanup_operands struct operands expected = {.n = 0};
    cleanup_operands struct operands got = {.n = 0};
    bool changed;
    if (host_evaluate(reference, c, NULL, NULL, &expected, &changed, err))
        return -1;
    for (size_t i = 0; i < c->layout.n_buffers; i++) {
        got.wide[got.n++] = calloc((size_t)c->layout.buffers[i].count + 1, 8);
        if (!got.wide[i])
            return fail(err, "out_of_memory", NULL, "No memory for the device's answers.");
    }
    if (device->reference->evaluate(state, c, got.wide, err))
        return -1;
    return compare_outputs(reference->task, c, &expected, &got, err);
}

int host_check_device(const struct host_reference *reference, const struct judge_device *device,
                      void *state, kgrade_error *err)
{
    const struct task *task = reference->task;
    struct judge_case c, smallest = {.seed = 0};
    uint64_t elements, least = UINT64_MAX;
    for (size_t i = 0; i < task->n_cases; i++) {
        if (task->cases[i].kind != CASE_CORRECTNESS)
            continue;
        if (lay_out(task, i, &c, &elements, err) || (elements <= JUDGE_MAX_CHECKED_ELEMENTS &&
                                                     check_case(reference, device, state, &c, err)))
            return -1;
        if (elements < least) {
            least = elements;
            smallest = c;
        }
    }
    return least <= JUDGE_MAX_CHECKED_ELEMENTS
               ? 0
               : check_case(reference, device, state, &smallest, err);
}
