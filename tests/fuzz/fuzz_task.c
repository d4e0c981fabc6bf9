/*
 * Arbitrary bytes as a task.json.  What is accepted must keep its promises: every case has a layout,
 * hidden cases lie inside their ranges, numbers are finite, the signature can be called and written
 * down, the text that workers get is the text that was read.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <math.h>

#include "grader/task/call.h"
#include "grader/task/skeleton.h"
#include "grader/task/task.h"
#include "sandbox/base/cleanup.h"

static void check_hidden(const struct task *task, uint64_t seed)
{
    struct task_case cases[TASK_MAX_CASES];
    static const char *const devices[] = {"opencl", "cuda"};
    for (size_t d = 0; d < 2; d++) {
        size_t n = task_draw_hidden(task, devices[d], seed, cases);
        require(n <= TASK_MAX_CASES);
        for (size_t i = 0; i < n; i++) {
            struct layout layout;
            require(task_layout(task, cases[i].dims, &layout, NULL) == 0 &&
                    task_draw_from(task, cases[i].values, &layout, NULL) == 0);
            for (size_t b = 0; b < layout.n_buffers; b++)
                require(isfinite(layout.buffers[b].values.scale) &&
                        isfinite(layout.buffers[b].values.offset) &&
                        layout.buffers[b].values.low <= layout.buffers[b].values.high);
            bool inside = false;
            for (size_t r = 0; r < task->n_hidden && !inside; r++) {
                inside = true;
                for (size_t dim = 0; dim < task->n_dims; dim++)
                    inside &= cases[i].dims[dim] >= task->hidden[r].low[dim] &&
                              cases[i].dims[dim] <= task->hidden[r].high[dim] &&
                              cases[i].dims[dim] % task->hidden[r].multiple[dim] == 0;
            }
            require(inside);
        }
    }
}

static void check_param(const struct task *task, const struct param *param)
{
    require(param->name && param->name[0] && param->rank <= TASK_MAX_RANK);
    require(isfinite(param->scalar) && isfinite(param->values.scale) &&
            isfinite(param->values.offset) && param->values.low <= param->values.high);
    for (size_t i = 0; i < param->rank; i++)
        require(param->shape[i] != NULL);
    const struct tolerance *t = task_tolerance(task, param->dtype);
    require(!t || (t->absolute >= 0 && t->relative >= 0 && t->norm >= 0 && isfinite(t->absolute) &&
                   isfinite(t->relative) && isfinite(t->norm)));
}

static void check_text(const struct task *task, const uint8_t *data, size_t size)
{
    cleanup_task struct task *again = NULL;
    require(strlen(task->text) == size && !memcmp(task->text, data, size));
    require(task_parse(task->text, size, "again", &again, NULL) == 0);
    require(!strcmp(again->name, task->name) && again->n_params == task->n_params &&
            again->n_cases == task->n_cases && again->n_hidden == task->n_hidden);
    for (size_t i = 0; i < task->n_cases; i++)
        require(again->cases[i].kind == task->cases[i].kind &&
                !strcmp(again->cases[i].devices, task->cases[i].devices) &&
                !memcmp(again->cases[i].dims, task->cases[i].dims,
                        task->n_dims * sizeof task->cases[i].dims[0]));
}

static void check_task(const struct task *task)
{
    require(task->n_params > 0 && task->n_params <= TASK_MAX_PARAMS);
    require(task->n_cases > 0 && task->n_cases <= TASK_MAX_CASES);
    for (size_t i = 0; i < task->n_params; i++)
        check_param(task, &task->params[i]);
    for (size_t i = 0; i < task->n_cases; i++) {
        struct layout layout;
        require(task_layout(task, task->cases[i].dims, &layout, NULL) == 0);
        require(layout.bytes > 0 && layout.bytes % LAYOUT_PAGE == 0);
        json_decref(task_dims_json(task, task->cases[i].dims));
    }
    struct call *call;
    require(call_new_entry(task, &call, NULL) == 0);
    call_set_dims(call, task->cases[0].dims);
    call_free(call);
    require(call_new_reference(task, &call, NULL) == 0);
    call_free(call);
    free(skeleton_source(task, "opencl", NULL, NULL));
    char *source = skeleton_source(task, "cuda", NULL, NULL);
    require(source != NULL);
    free(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_task struct task *task = NULL;
    kgrade_error err = {.code = ""};
    if (task_parse((const char *)data, size, "input", &task, &err)) {
        require(!strcmp(err.code, "task_invalid") && err.message[0] && !task);
        return 0;
    }
    check_task(task);
    check_text(task, data, size);
    check_hidden(task, size);
    return 0;
}
