/* The file that a candidate in Python starts from. */
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/fail.h"
#include "skeleton_parts.h"

static void put_docstring(FILE *out, const struct task *task)
{
    fprintf(out, "\"\"\"%s: ", task->name);
    for (const char *c = task->title; *c; c++)
        fprintf(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    fprintf(out, ".  `kgrade show %s` prints the statement.\n\n", task->name);
    for (size_t i = 0; i < task->n_params; i++) {
        fprintf(out, "  ");
        skeleton_parameter(out, &task->params[i]);
    }
    fprintf(out, "\n");
    for (size_t i = 0; i < task->n_tolerances; i++)
        skeleton_tolerance(out, &task->tolerances[i]);
    fprintf(out,
            "Inputs must stay unchanged and every element of an output must be written.  The\n"
            "function only queues work and returns; it must not wait.  Only time on the device\n"
            "is scored.\n\"\"\"\n\n");
}

static void put_entry(FILE *out, const struct task *task, bool with_stream)
{
    fprintf(out, "def %s(", task->entry);
    for (size_t i = 0, n = 0; i < task->n_params; i++)
        if (with_stream || task->params[i].kind != PARAM_STREAM)
            fprintf(out, "%s%s", n++ ? ", " : "", task->params[i].name);
    fprintf(out, "):\n");
}

/* Expressions of task.json but for the division, which is one of integers. */
static void put_extent(FILE *out, const char *text)
{
    bool is_sum = strpbrk(text, "+-*/% ") != NULL;
    fprintf(out, is_sum ? "(" : "");
    for (; *text; text++)
        fprintf(out, *text == '/' ? "//" : "%c", *text);
    fprintf(out, is_sum ? ")" : "");
}

static void put_items(FILE *out, const struct param *output)
{
    for (size_t axis = 0; axis < output->rank; axis++) {
        fprintf(out, axis ? " * " : "");
        put_extent(out, expr_text(output->shape[axis]));
    }
    if (output->rank == 0)
        fprintf(out, "1");
}

static bool needs_ceil_div(const struct param *output)
{
    for (size_t axis = 0; axis < output->rank; axis++)
        if (strstr(expr_text(output->shape[axis]), "ceil_div"))
            return true;
    return false;
}

/* Numbers that kernels get by value have a size there. */
static void put_argument(FILE *out, const struct param *param)
{
    static const char *const types[] = {[DTYPE_F64] = "float64",
                                        [DTYPE_F32] = "float32",
                                        [DTYPE_I32] = "int32",
                                        [DTYPE_I64] = "int64"};
    size_t n = sizeof types / sizeof types[0];
    if (param_is_buffer(param))
        fprintf(out, ", %s", param->name);
    else if ((size_t)param->dtype < n && types[param->dtype])
        fprintf(out, ", numpy.%s(%s)", types[param->dtype], param->name);
}

static void write_opencl(FILE *out, const struct task *task, const struct param *stream)
{
    char items[SKELETON_MAX_NAME], index[SKELETON_MAX_NAME], function[SKELETON_MAX_NAME];
    char source[SKELETON_MAX_NAME], kernel[SKELETON_MAX_NAME];
    skeleton_free_name(task, "items", items);
    skeleton_free_name(task, "index", index);
    skeleton_free_name(task, "compute", function);
    skeleton_free_name(task, "SOURCE", source);
    skeleton_free_name(task, "kernel", kernel);
    const struct param *output = skeleton_output(task);
    fprintf(out, "import numpy\nimport pyopencl\n\n%s = \"\"\"\n", source);
    skeleton_opencl_kernel(out, task, function, items, index, "", "\n");
    fprintf(out, "\n\"\"\"\n\n%s = None\n\n\n", kernel);
    if (needs_ceil_div(output))
        fprintf(out, "def ceil_div(a, b):\n    return -(-a // b)\n\n\n");
    put_entry(out, task, true);
    fprintf(out,
            "    global %s\n    if %s is None:  # in the first call\n"
            "        %s = pyopencl.Program(%s.context, %s).build().%s\n    %s = ",
            kernel, kernel, kernel, stream->name, source, function, items);
    put_items(out, output);
    fprintf(out, "\n    if %s:\n        %s(%s, ((%s + 63) // 64 * 64,), (64,)", items, kernel,
            stream->name, items);
    for (size_t i = 0; i < task->n_params; i++)
        if (task->params[i].kind != PARAM_STREAM)
            put_argument(out, &task->params[i]);
    fprintf(out, ", numpy.int64(%s))\n", items);
}

static void write_cuda(FILE *out, const struct task *task)
{
    fprintf(out, "import torch\n\n\n");
    put_entry(out, task, false);
    fprintf(out,
            "    # YOUR WORK: PyTorch, Triton, or CUDA by load_inline, on the current stream.\n");
    for (size_t i = 0; i < task->n_params; i++)
        if (task->params[i].kind == PARAM_OUT)
            fprintf(out, "    %s.zero_()\n", task->params[i].name);
}

/* --- foreign tasks --- */

/* As Python would write it. */
static void put_structure(FILE *out, const json_t *structure)
{
    const char *key = json_object_iter_key(json_object_iter((json_t *)structure));
    json_t *value = json_object_iter_value(json_object_iter((json_t *)structure)), *item;
    size_t i;
    if (json_object_get(structure, "buffer"))
        key = "buffer";
    if (key && !strcmp(key, "buffer")) {
        fprintf(out, "%s", json_string_value(json_object_get(structure, "buffer")));
    } else if (key && !strcmp(key, "dict")) {
        fprintf(out, "{");
        json_object_foreach(value, key, item)
        {
            fprintf(out, item == json_object_iter_value(json_object_iter(value)) ? "" : ", ");
            fprintf(out, "\"%s\": ", key);
            put_structure(out, item);
        }
        fprintf(out, "}");
    } else if (json_is_array(value)) {
        bool is_tuple = !strcmp(key, "tuple");
        fprintf(out, is_tuple ? "(" : "[");
        json_array_foreach(value, i, item)
        {
            fprintf(out, i ? ", " : "");
            put_structure(out, item);
        }
        fprintf(out, is_tuple ? i == 1 ? ",)" : ")" : "]");
    } else if (json_is_null(value) || json_is_boolean(value)) {
        fprintf(out, json_is_null(value) ? "None" : json_is_true(value) ? "True" : "False");
    } else {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
        fprintf(out, "%s", text ? text : "?");
        free(text);
    }
}

static void write_foreign(FILE *out, const struct task *task)
{
    const json_t *variant = json_array_get(json_object_get(task->python, "variants"), 0);
    const char *form = json_string_value(json_object_get(task->python, "form"));
    bool is_model = !strcmp(form, "model");
    fprintf(out, "\n");
    fprintf(out,
            is_model ? "class %s:\n    def __init__(self, *init):\n        # init is "
                     : "def %s(%s):\n    # ",
            task->entry, !strcmp(form, "data") ? "data" : "*inputs");
    if (is_model) {
        put_structure(out, json_object_get(variant, "init"));
        fprintf(out, " in the first case.\n        pass\n\n"
                     "    def __call__(self, *inputs):\n        # ");
    }
    fprintf(out, !strcmp(form, "data") ? "data is " : "inputs are ");
    put_structure(out, json_object_get(variant, "data"));
    fprintf(out, " in the first case; to be written or returned: ");
    put_structure(out, json_object_get(variant, "outputs"));
    fprintf(out, "\n%s    raise NotImplementedError  # YOUR WORK\n", is_model ? "    " : "");
}

int skeleton_write_python(FILE *out, const struct task *task, const char *device, kgrade_error *err)
{
    const struct param *stream = skeleton_stream(task);
    bool for_opencl = !strcmp(device, "opencl");
    if (for_opencl && !stream)
        return fail(err, "task_not_for_device", "Give the task a parameter of kind stream.",
                    "The task %s passes no queue, so OpenCL cannot run it.", task->name);
    put_docstring(out, task);
    if (task->python)
        write_foreign(out, task);
    else if (for_opencl)
        write_opencl(out, task, stream);
    else
        write_cuda(out, task);
    return 0;
}
