/*
 * Arbitrary bytes as a task.json and as an expression.  What is accepted must keep its promises:
 * every case has a layout, hidden cases lie inside their ranges, the signature can be called and
 * written down.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "grader/task/call.h"
#include "grader/task/skeleton.h"
#include "grader/task/task.h"
#include "sandbox/base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void try_expression(const uint8_t *data, size_t size)
{
    cleanup_free char *text = strndup((const char *)data, size);
    struct expr *expr;
    kgrade_error err = {.code = ""};
    if (!text)
        return;
    if (expr_parse(text, &expr, &err)) {
        require(err.code[0] && err.message[0]);
        return;
    }
    static const struct expr_scope scope = {
        .names = {"n", "m", "k"}, .values = {INT64_MIN, INT64_MAX, -1}, .n = 3};
    int64_t value;
    char name[EXPR_MAX_LENGTH + 1];
    bool unknown = expr_unknown_name(expr, &scope, name);
    int result = expr_eval(expr, &scope, &value, &err);
    require(!unknown || result);
    require(result == 0 || err.code[0]);
    expr_free(expr);
}

static void check_hidden(const struct task *task, uint64_t seed)
{
    struct task_case cases[TASK_MAX_CASES];
    static const char *const devices[] = {"opencl", "cuda"};
    for (size_t d = 0; d < 2; d++) {
        size_t n = task_draw_hidden(task, devices[d], seed, cases);
        require(n <= TASK_MAX_CASES);
        for (size_t i = 0; i < n; i++) {
            struct layout layout;
            require(task_layout(task, cases[i].dims, &layout, NULL) == 0);
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

static void check_task(const struct task *task)
{
    require(task->n_params > 0 && task->n_params <= TASK_MAX_PARAMS);
    require(task->n_cases > 0 && task->n_cases <= TASK_MAX_CASES);
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
    free(skeleton_source(task, "opencl", NULL));
    char *source = skeleton_source(task, "cuda", NULL);
    require(source != NULL);
    free(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_expression(data, size);

    cleanup_task struct task *task = NULL;
    kgrade_error err = {.code = ""};
    if (task_parse((const char *)data, size, "input", &task, &err)) {
        require(err.code[0] && err.message[0] && !task);
        return 0;
    }
    check_task(task);
    check_hidden(task, size);
    return 0;
}
