/* task.json as a whole. */
#define _GNU_SOURCE
#include "parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"

#define MAX_NAME 64
#define MAX_TITLE 120
#define MAX_WHY 500

static int parse_name(struct reader *r, const json_t *root, char **ret)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    const char *name;
    if (reader_string(r, root, "name", MAX_NAME, &name))
        return -1;
    if (strspn(name, letters) != strlen(name)) {
        reader_key(r, "name");
        return reader_complain(r, "Use a-z, 0-9 and underscores.", "\"%s\" cannot name a task.",
                               name);
    }
    *ret = strdup(name);
    return *ret ? 0 : reader_complain(r, NULL, "no memory for the name.");
}

static int parse_title(struct reader *r, const json_t *root, char **ret)
{
    const char *title;
    if (reader_string(r, root, "title", MAX_TITLE, &title))
        return -1;
    for (const char *c = title; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 127) {
            reader_key(r, "title");
            return reader_complain(r, "Write the title on one line.",
                                   "the title holds a control character.");
        }
    }
    *ret = strdup(title);
    return *ret ? 0 : reader_complain(r, NULL, "no memory for the title.");
}

static bool has_output(const struct task *task, enum dtype type)
{
    for (size_t i = 0; i < task->n_params; i++) {
        const struct param *param = &task->params[i];
        if ((param->kind == PARAM_OUT || param->kind == PARAM_INOUT) && param->dtype == type)
            return true;
    }
    return false;
}

#define TF32_MANTISSA_BITS 10 /* no dtype: an f32 as tensor cores read it */

static int parse_precision(struct reader *r, const json_t *object, unsigned *ret)
{
    const char *name;
    enum dtype type;
    if (!json_object_get(object, "precision"))
        return 0;
    if (reader_string(r, object, "precision", 16, &name))
        return -1;
    if (!strcmp(name, "tf32"))
        *ret = TF32_MANTISSA_BITS;
    else if (dtype_parse(name, &type))
        *ret = dtype_mantissa_bits(type);
    if (*ret)
        return 0;
    reader_key(r, "precision");
    return reader_complain(r, "Use f64, f32, tf32, f16, bf16, f8e4m3 or f8e5m2.",
                           "\"%s\" is no precision.", name);
}

static int parse_one_tolerance(struct reader *r, const json_t *object, struct tolerance *ret)
{
    static const char *const keys[] = {"absolute", "relative", "norm", "precision", "why", NULL};
    const char *why;
    if (reader_check_keys(r, object, keys) ||
        reader_number(r, object, "absolute", 0, 1e300, &ret->absolute) ||
        reader_number(r, object, "relative", 0, 1, &ret->relative) ||
        reader_number(r, object, "norm", 0, 1, &ret->norm) ||
        parse_precision(r, object, &ret->precision))
        return -1;
    return json_object_get(object, "why") ? reader_string(r, object, "why", MAX_WHY, &why) : 0;
}

static int parse_tolerances(struct reader *r, const json_t *root, struct task *task)
{
    const json_t *object = json_object_get(root, "tolerance");
    size_t back = reader_key(r, "tolerance");
    if (object) {
        /* The dtypes of outputs are the only keys that make sense. */
        const char *keys[DTYPE_COUNT + 1] = {NULL};
        size_t n = 0;
        for (int type = 0; type < DTYPE_COUNT; type++)
            if (has_output(task, (enum dtype)type))
                keys[n++] = dtype_name((enum dtype)type);
        if (reader_check_keys(r, object, keys))
            return -1;
    }
    for (int type = 0; type < DTYPE_COUNT; type++) {
        const char *name = dtype_name((enum dtype)type);
        const json_t *one = json_object_get(object, name);
        if (!one && dtype_is_float((enum dtype)type) && has_output(task, (enum dtype)type))
            return reader_complain(r, "Add absolute, relative and norm for it; 0 means exact.",
                                   "an output is %s, for which there is no tolerance.", name);
        if (!one)
            continue;
        if (task->n_tolerances == TASK_MAX_TOLERANCES)
            return reader_complain(r, "Use fewer dtypes.", "more than %d tolerances.",
                                   TASK_MAX_TOLERANCES);
        struct tolerance *tolerance = &task->tolerances[task->n_tolerances];
        tolerance->dtype = (enum dtype)type;
        size_t back_to_all = reader_key(r, name);
        if (parse_one_tolerance(r, one, tolerance))
            return -1;
        reader_leave(r, back_to_all);
        task->n_tolerances++;
    }
    reader_leave(r, back);
    return 0;
}

static int parse_formula(struct reader *r, const json_t *object, const char *key, struct expr **ret)
{
    const char *text;
    kgrade_error cause;
    if (reader_string(r, object, key, EXPR_MAX_LENGTH, &text))
        return -1;
    if (expr_parse(text, ret, &cause)) {
        reader_key(r, key);
        return reader_complain(r, cause.hint, "%s", cause.message);
    }
    return 0;
}

static int parse_roofline(struct reader *r, const json_t *root, struct task *task)
{
    static const char *const keys[] = {"bytes", "operations", NULL};
    const json_t *object = reader_member(r, root, "roofline");
    if (!object)
        return -1;
    size_t back = reader_key(r, "roofline");
    if (reader_check_keys(r, object, keys) ||
        parse_formula(r, object, "bytes", &task->roofline_bytes) ||
        parse_formula(r, object, "operations", &task->roofline_operations))
        return -1;
    reader_leave(r, back);
    return 0;
}

static int check_known(struct reader *r, const struct expr *expr, const struct expr_scope *scope)
{
    char name[EXPR_MAX_LENGTH + 1];
    if (!expr_unknown_name(expr, scope, name))
        return 0;
    return reader_complain(r, "Use the name of a parameter of kind dim.",
                           "the expression \"%s\" uses \"%s\", which is not a dim.",
                           expr_text(expr), name);
}

/* Dims may be declared after the buffers whose shapes use them, so names are looked up once all are
 * known. */
static int check_names(struct reader *r, const struct task *task)
{
    static const int64_t dims[TASK_MAX_PARAMS];
    struct expr_scope scope = task_scope(task, dims);
    size_t back = reader_key(r, "parameters");
    for (size_t i = 0; i < task->n_params; i++) {
        size_t back_to_list = reader_index(r, i);
        reader_key(r, "shape");
        for (size_t axis = 0; axis < task->params[i].rank; axis++) {
            size_t back_to_shape = reader_index(r, axis);
            if (check_known(r, task->params[i].shape[axis], &scope))
                return -1;
            reader_leave(r, back_to_shape);
        }
        reader_leave(r, back_to_list);
    }
    reader_leave(r, back);

    back = reader_key(r, "roofline");
    size_t back_to_roofline = reader_key(r, "bytes");
    if (check_known(r, task->roofline_bytes, &scope))
        return -1;
    reader_leave(r, back_to_roofline);
    reader_key(r, "operations");
    if (check_known(r, task->roofline_operations, &scope))
        return -1;
    reader_leave(r, back);
    return 0;
}

static int parse_workspace(struct reader *r, const json_t *root, struct task *task)
{
    int64_t bytes;
    if (!json_object_get(root, "workspace_bytes"))
        return 0;
    if (reader_integer(r, root, "workspace_bytes", 0, (int64_t)TASK_MAX_CASE_BYTES, &bytes))
        return -1;
    task->workspace_bytes = (uint64_t)bytes;
    return 0;
}

static int parse_root(struct reader *r, const json_t *root, struct task *task)
{
    static const char *const keys[] = {"name",    "title",     "entry",    "parameters",
                                       "cases",   "tolerance", "roofline", "workspace_bytes",
                                       "devices", "python",    "$schema",  NULL};
    return reader_check_keys(r, root, keys) || parse_name(r, root, &task->name) ||
                   parse_title(r, root, &task->title) ||
                   parse_identifier(r, root, "entry", &task->entry) ||
                   parse_devices(r, root, task->devices) || parse_python(r, root, task) ||
                   parse_parameters(r, root, task) || parse_tolerances(r, root, task) ||
                   parse_roofline(r, root, task) || check_names(r, task) ||
                   parse_workspace(r, root, task) || parse_cases(r, root, task) ||
                   parse_check_variants(r, task)
               ? -1
               : 0;
}

int task_parse(const char *text, size_t size, const char *origin, struct task **ret,
               kgrade_error *err)
{
    if (size > TASK_MAX_FILE_BYTES)
        return fail(err, "task_invalid", "Write a smaller file.",
                    "%s has %zu bytes; at most %u are read.", origin, size, TASK_MAX_FILE_BYTES);
    if (memchr(text, 0, size)) /* which jansson overlooks behind a number */
        return fail(err, "task_invalid", "Save the file as UTF-8 text.", "%s holds a NUL byte.",
                    origin);
    json_error_t where;
    json_auto_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    if (!root)
        return fail(err, "task_invalid", "Correct the JSON at that line.",
                    "%s: line %d, column %d: %s.", origin, where.line, where.column, where.text);
    cleanup_task struct task *task = calloc(1, sizeof *task);
    if (!task)
        return fail(err, "out_of_memory", NULL, "No memory for a task.");
    task->text = strndup(text, size);
    task->statement = strdup("");
    if (!task->text || !task->statement)
        return fail(err, "out_of_memory", NULL, "No memory for a task.");
    struct reader reader = {.origin = origin, .err = err, .path = "$"};
    if (parse_root(&reader, root, task))
        return -1;
    *ret = steal_pointer(&task);
    return 0;
}
