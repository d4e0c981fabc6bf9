#define _GNU_SOURCE
#include "arguments.h"

#include <stdlib.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"

static json_t *describe(const struct param *param)
{
    return json_pack("{s:s, s:s, s:s?}", "name", param->name, "kind", param_kind_name(param->kind),
                     "dtype", param->kind == PARAM_STREAM ? NULL : dtype_name(param->dtype));
}

/* Of a foreign task: how an entry is called, and what with.  Nothing of where inputs and answers come from. */
static json_t *describe_foreign(const struct task *task)
{
    static const char *const kept[] = {"data", "outputs", "init"};
    json_t *variants = json_array(), *variant;
    size_t i;
    if (!task->python) {
        json_decref(variants);
        return NULL;
    }
    json_array_foreach(json_object_get(task->python, "variants"), i, variant)
    {
        json_t *one = json_object();
        for (size_t k = 0; k < sizeof kept / sizeof kept[0]; k++)
            if (json_object_get(variant, kept[k]))
                json_object_set(one, kept[k], json_object_get(variant, kept[k]));
        json_array_append_new(variants, one);
    }
    return json_pack("{s:O, s:O, s:o}", "form", json_object_get(task->python, "form"), "seed",
                     json_object_get(task->python, "seed"), "variants", variants);
}

char *arguments_task(const struct task *task, kgrade_error *err)
{
    json_auto_t *parameters = json_array();
    for (size_t i = 0; i < task->n_params; i++)
        json_array_append_new(parameters, describe(&task->params[i]));
    json_auto_t *json = json_pack("{s:s, s:O, s:o*}", "entry", task->entry, "parameters",
                                  parameters, "foreign", describe_foreign(task));
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    if (!text)
        fail(err, "out_of_memory", NULL, "No memory for the task.");
    return text;
}

static int add_buffer(const struct param *param, const struct expr_scope *scope, void *pointer,
                      json_t *arguments, kgrade_error *err)
{
    json_t *shape = json_array();
    for (size_t axis = 0; axis < param->rank; axis++) {
        int64_t extent;
        if (expr_eval(param->shape[axis], scope, &extent, err)) {
            json_decref(shape);
            return -1;
        }
        json_array_append_new(shape, json_integer(extent));
    }
    json_array_append_new(arguments, json_pack("{s:I, s:o}", "address",
                                               (json_int_t)(uintptr_t)pointer, "shape", shape));
    return 0;
}

char *arguments_call(const struct task *task, const int64_t *dims,
                     void *const pointers[TASK_MAX_PARAMS], kgrade_error *err)
{
    struct expr_scope scope = task_scope(task, dims);
    json_auto_t *arguments = json_array();
    size_t dim = 0;
    for (size_t i = 0; i < task->n_params; i++) {
        const struct param *param = &task->params[i];
        if (param_is_buffer(param)) {
            if (add_buffer(param, &scope, pointers[i], arguments, err))
                return NULL;
        } else if (param->kind == PARAM_STREAM) {
            json_array_append_new(
                arguments, json_pack("{s:I}", "address", (json_int_t)(uintptr_t)pointers[i]));
        } else if (param->kind == PARAM_DIM) {
            json_array_append_new(arguments, json_pack("{s:I}", "value", (json_int_t)dims[dim++]));
        } else {
            bool real = dtype_is_float(param->dtype);
            json_array_append_new(arguments,
                                  real ? json_pack("{s:f}", "value", param->scalar)
                                       : json_pack("{s:I}", "value", (json_int_t)param->scalar));
        }
    }
    char *text = json_dumps(arguments, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text)
        fail(err, "out_of_memory", NULL, "No memory for the arguments.");
    return text;
}
