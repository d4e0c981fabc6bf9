#include <string.h>

#include "../../sandbox/base/fail.h"
#include "task.h"

static int count_elements(const struct param *param, const struct expr_scope *scope, uint64_t *ret,
                          kgrade_error *err)
{
    uint64_t count = 1;
    for (size_t i = 0; i < param->rank; i++) {
        int64_t extent;
        kgrade_error cause;
        if (expr_eval(param->shape[i], scope, &extent, &cause))
            return fail(err, "case_invalid", cause.hint, "Shape of %s, axis %zu: %s", param->name,
                        i, cause.message);
        if (extent < 0)
            return fail(err, "case_invalid", "Choose dims that make every extent 0 or more.",
                        "Shape of %s, axis %zu: \"%s\" is %lld, which is negative.", param->name, i,
                        expr_text(param->shape[i]), (long long)extent);
        if (__builtin_mul_overflow(count, (uint64_t)extent, &count))
            return fail(err, "case_invalid", "Choose smaller dims.",
                        "The number of elements of %s does not fit in 64 bits.", param->name);
    }
    *ret = count;
    return 0;
}

int task_layout(const struct task *task, const int64_t *dims, struct layout *ret, kgrade_error *err)
{
    struct expr_scope scope = task_scope(task, dims);
    struct layout layout = {0};
    for (size_t i = 0; i < task->n_params; i++) {
        const struct param *param = &task->params[i];
        if (!param_is_buffer(param))
            continue;
        struct layout_buffer buffer = {.param = i, .offset = layout.bytes, .values = param->values};
        if (count_elements(param, &scope, &buffer.count, err))
            return -1;
        if (__builtin_mul_overflow(buffer.count, dtype_size(param->dtype), &buffer.bytes) ||
            buffer.bytes > TASK_MAX_CASE_BYTES)
            return fail(err, "case_invalid", "Choose smaller dims.",
                        "The buffer %s would be larger than %llu bytes.", param->name,
                        TASK_MAX_CASE_BYTES);
        uint64_t end = buffer.bytes + LAYOUT_CANARY;
        buffer.canary = (end + LAYOUT_PAGE - 1) / LAYOUT_PAGE * LAYOUT_PAGE - buffer.bytes;
        layout.bytes += buffer.bytes + buffer.canary + LAYOUT_PAGE;
        layout.buffers[layout.n_buffers++] = buffer;
    }
    if (layout.bytes > TASK_MAX_CASE_BYTES)
        return fail(err, "case_invalid", "Choose smaller dims.",
                    "The buffers of the case have %llu bytes together; at most %llu are allowed.",
                    (unsigned long long)layout.bytes, TASK_MAX_CASE_BYTES);
    *ret = layout;
    return 0;
}

int task_draw_from(const struct task *task, size_t values, struct layout *layout, kgrade_error *err)
{
    if (values > task->n_hidden)
        return fail(err, "case_invalid", NULL, "The task has no hidden range %zu.", values);
    for (size_t i = 0; values && i < layout->n_buffers; i++)
        layout->buffers[i].values = task->hidden[values - 1].values[layout->buffers[i].param];
    return 0;
}

int task_largest(const struct task *task, const struct task_case *cases, size_t n, uint64_t *ret,
                 kgrade_error *err)
{
    *ret = LAYOUT_PAGE;
    for (size_t i = 0; i < n; i++) {
        struct layout layout;
        if (task_layout(task, cases[i].dims, &layout, err))
            return -1;
        if (layout.bytes > *ret)
            *ret = layout.bytes;
    }
    return 0;
}
