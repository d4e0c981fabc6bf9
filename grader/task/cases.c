/* $.cases of a task.json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

#define MAX_DEVICE_NAME 15

/* Keys that a case may have: a fixed set and the dims. */
struct case_keys {
    const char *list[TASK_MAX_PARAMS + 4];
    size_t n;
};

static struct case_keys keys_with_dims(const struct task *task, const char *const *fixed)
{
    struct case_keys keys = {0};
    for (size_t i = 0; i < task->n_params; i++)
        if (task->params[i].kind == PARAM_DIM)
            keys.list[keys.n++] = task->params[i].name;
    for (size_t i = 0; fixed[i]; i++)
        keys.list[keys.n++] = fixed[i];
    return keys;
}

static int64_t largest_dim(const struct task *task, size_t dim)
{
    for (size_t i = 0; i < task->n_params; i++)
        if (task->params[i].kind == PARAM_DIM && dim-- == 0)
            return task->params[i].dtype == DTYPE_I32 ? INT32_MAX : TASK_MAX_DIM;
    return 0;
}

static bool is_device_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    size_t length = strlen(name);
    return length > 0 && length <= MAX_DEVICE_NAME && strspn(name, letters) == length;
}

int parse_devices(struct reader *r, const json_t *object, char ret[64])
{
    if (!json_object_get(object, "devices"))
        return 0;
    const json_t *list = reader_array(r, object, "devices", 1, 8);
    if (!list)
        return -1;
    size_t back = reader_key(r, "devices");
    size_t used = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        size_t back_to_list = reader_index(r, i);
        const char *name = json_string_value(json_array_get(list, i));
        if (!name || !is_device_name(name))
            return reader_complain(r, "Use the name of a device, for example \"opencl\".",
                                   "the name of a device is expected here.");
        if (used && task_devices_include(ret, name))
            return reader_complain(r, "Name every device once.", "\"%s\" is named twice.", name);
        int n = snprintf(ret + used, 64 - used, "%s%s", used ? " " : "", name);
        if ((size_t)n >= 64 - used)
            return reader_complain(r, "Name fewer devices.", "the list of devices is too long.");
        used += (size_t)n;
        reader_leave(r, back_to_list);
    }
    reader_leave(r, back);
    return 0;
}

/* The first name in `devices` that `all` lacks; NULL when there is none. */
static const char *not_among(const char *devices, const char *all, char name[64])
{
    while (*devices) {
        size_t n = strcspn(devices, " ");
        snprintf(name, 64, "%.*s", (int)n, devices);
        if (!task_devices_include(all, name))
            return name;
        devices += n + (devices[n] == ' ');
    }
    return NULL;
}

static int parse_case_devices(struct reader *r, const json_t *object, const struct task *task,
                              char ret[64])
{
    char name[64];
    if (parse_devices(r, object, ret))
        return -1;
    if (not_among(ret, task->devices, name)) {
        reader_key(r, "devices");
        return reader_complain(r, "Add the device to $.devices or remove it here.",
                               "the task is not for the device \"%s\".", name);
    }
    return 0;
}

static bool devices_meet(const char *a, const char *b)
{
    char name[64];
    if (!*a || !*b)
        return true;
    while (*a) {
        size_t n = strcspn(a, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, a);
        if (task_devices_include(b, name))
            return true;
        a += n + (a[n] == ' ');
    }
    return false;
}

/* Shapes and formulas of one set of dims.  Shapes are tried one by one first, so that a mistake is
 * shown where it was made. */
static int prove(struct reader *r, const struct task *task, const int64_t *dims, bool timed)
{
    struct expr_scope scope = task_scope(task, dims);
    kgrade_error cause;
    int64_t bytes, operations;
    struct layout layout;
    if (task_layout(task, dims, &layout, &cause))
        return reader_complain(r, cause.hint, "%s", cause.message);
    if (expr_eval(task->roofline_bytes, &scope, &bytes, &cause) ||
        expr_eval(task->roofline_operations, &scope, &operations, &cause))
        return reader_complain(r, cause.hint, "Roofline: %s", cause.message);
    if (operations < 0 || bytes < (timed ? 1 : 0))
        return reader_complain(r, "Correct $.roofline or the dims.",
                               "Roofline: %lld bytes and %lld operations cannot be.",
                               (long long)bytes, (long long)operations);
    return 0;
}

static int parse_case(struct reader *r, const json_t *object, enum case_kind kind,
                      struct task *task)
{
    static const char *const fixed[] = {"devices", NULL};
    struct case_keys keys = keys_with_dims(task, fixed);
    struct task_case one = {.kind = kind};
    if (reader_check_keys(r, object, keys.list) || parse_case_devices(r, object, task, one.devices))
        return -1;
    for (size_t i = 0; i < task->n_dims; i++)
        if (reader_integer(r, object, keys.list[i], 0, largest_dim(task, i), &one.dims[i]))
            return -1;
    for (size_t i = 0; i < task->n_cases; i++) {
        const struct task_case *other = &task->cases[i];
        if (other->kind == kind && devices_meet(other->devices, one.devices) &&
            memcmp(other->dims, one.dims, sizeof one.dims) == 0)
            return reader_complain(r, "Remove one of the two.",
                                   "this case repeats an earlier one for the same device.");
    }
    if (prove(r, task, one.dims, kind == CASE_BENCHMARK))
        return -1;
    task->cases[task->n_cases++] = one;
    return 0;
}

static int parse_case_list(struct reader *r, const json_t *object, enum case_kind kind,
                           struct task *task)
{
    const char *key = case_kind_name(kind);
    const json_t *list = reader_array(r, object, key, 1, TASK_MAX_CASES - task->n_cases);
    if (!list)
        return -1;
    size_t back = reader_key(r, key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        size_t back_to_list = reader_index(r, i);
        if (parse_case(r, json_array_get(list, i), kind, task))
            return -1;
        reader_leave(r, back_to_list);
    }
    reader_leave(r, back);
    return 0;
}

static int parse_range(struct reader *r, const json_t *object, const char *dim, int64_t largest,
                       int64_t multiple, int64_t *ret_low, int64_t *ret_high)
{
    const json_t *pair = reader_array(r, object, dim, 2, 2);
    if (!pair)
        return -1;
    size_t back = reader_key(r, dim);
    if (reader_as_integer(r, json_array_get(pair, 0), 0, largest, ret_low) ||
        reader_as_integer(r, json_array_get(pair, 1), *ret_low, largest, ret_high))
        return -1;
    if (*ret_high / multiple * multiple < *ret_low)
        return reader_complain(r, "Widen the range.", "no multiple of %lld lies in %lld..%lld.",
                               (long long)multiple, (long long)*ret_low, (long long)*ret_high);
    reader_leave(r, back);
    return 0;
}

static int parse_multiples(struct reader *r, const json_t *object, const struct case_keys *dims,
                           struct hidden_range *range)
{
    for (size_t i = 0; i < dims->n; i++)
        range->multiple[i] = 1;
    const json_t *multiples = json_object_get(object, "multiple_of");
    if (!multiples)
        return 0;
    size_t back = reader_key(r, "multiple_of");
    if (reader_check_keys(r, multiples, dims->list))
        return -1;
    for (size_t i = 0; i < dims->n; i++)
        if (json_object_get(multiples, dims->list[i]) &&
            reader_integer(r, multiples, dims->list[i], 1, INT32_MAX, &range->multiple[i]))
            return -1;
    reader_leave(r, back);
    return 0;
}

/* "other_values": {"x": {...}}: other values for cases of this range than the parameters have. */
static int parse_other_values(struct reader *r, const json_t *object, const struct task *task,
                              struct hidden_range *range)
{
    const json_t *values = json_object_get(object, "other_values");
    const char *inputs[TASK_MAX_PARAMS + 1] = {NULL};
    size_t n = 0;
    for (size_t i = 0; i < task->n_params; i++) {
        const struct param *p = &task->params[i];
        range->values[i] = p->values;
        if (p->kind == PARAM_IN || p->kind == PARAM_INOUT)
            inputs[n++] = p->name;
    }
    if (!values)
        return 0;
    size_t back = reader_key(r, "other_values");
    if (reader_check_keys(r, values, inputs))
        return -1;
    if (json_object_size(values) == 0)
        return reader_complain(r, "Name an input, or remove the key.", "no input is named here.");
    for (size_t i = 0; i < task->n_params; i++)
        if (json_object_get(values, task->params[i].name) &&
            parse_distribution(r, values, task->params[i].name, task->params[i].dtype,
                               &range->values[i]))
            return -1;
    range->has_values = true;
    reader_leave(r, back);
    return 0;
}

static int parse_hidden_range(struct reader *r, const json_t *object, struct task *task)
{
    static const char *const fixed[] = {"count", "devices", "multiple_of", "other_values", NULL};
    static const char *const none[] = {NULL};
    struct case_keys keys = keys_with_dims(task, fixed), dims = keys_with_dims(task, none);
    struct hidden_range *range = &task->hidden[task->n_hidden];
    int64_t count, low[TASK_MAX_PARAMS] = {0}, high[TASK_MAX_PARAMS] = {0};
    if (reader_check_keys(r, object, keys.list) ||
        reader_integer(r, object, "count", 1, TASK_MAX_CASES, &count) ||
        parse_case_devices(r, object, task, range->devices) ||
        parse_multiples(r, object, &dims, range) || parse_other_values(r, object, task, range))
        return -1;
    range->count = (size_t)count;
    for (size_t i = 0; i < dims.n; i++) {
        int64_t multiple = range->multiple[i];
        if (parse_range(r, object, dims.list[i], largest_dim(task, i), multiple, &range->low[i],
                        &range->high[i]))
            return -1;
        low[i] = (range->low[i] + multiple - 1) / multiple * multiple;
        high[i] = range->high[i] / multiple * multiple;
    }
    if (prove(r, task, low, false) || prove(r, task, high, false))
        return -1;
    task->n_hidden++;
    return 0;
}

static int parse_hidden(struct reader *r, const json_t *object, struct task *task)
{
    if (!json_object_get(object, "hidden"))
        return 0;
    const json_t *list = reader_array(r, object, "hidden", 0, TASK_MAX_HIDDEN_RANGES);
    if (!list)
        return -1;
    size_t back = reader_key(r, "hidden");
    size_t total = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        size_t back_to_list = reader_index(r, i);
        if (parse_hidden_range(r, json_array_get(list, i), task))
            return -1;
        reader_leave(r, back_to_list);
        total += task->hidden[i].count;
    }
    if (total > TASK_MAX_CASES)
        return reader_complain(r, "Lower the counts.",
                               "%zu hidden cases are asked for; at most %d are drawn.", total,
                               TASK_MAX_CASES);
    reader_leave(r, back);
    return 0;
}

/* Every device that is named anywhere must be able to grade. */
static int check_device(struct reader *r, const struct task *task, const char *device)
{
    bool found[2] = {false, false};
    for (size_t i = 0; i < task->n_cases; i++)
        if (task_devices_include(task->cases[i].devices, device))
            found[task->cases[i].kind == CASE_BENCHMARK] = true;
    if (found[0] && found[1])
        return 0;
    return reader_complain(r, "Add a case for the device.",
                           "there is no %s case for the device \"%s\".",
                           case_kind_name(found[0] ? CASE_BENCHMARK : CASE_CORRECTNESS), device);
}

static int check_devices(struct reader *r, const struct task *task, const char *devices)
{
    while (*devices) {
        char name[64];
        size_t n = strcspn(devices, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, devices);
        if (check_device(r, task, name))
            return -1;
        devices += n + (devices[n] == ' ');
    }
    return 0;
}

int parse_cases(struct reader *r, const json_t *root, struct task *task)
{
    static const char *const keys[] = {"correctness", "benchmark", "hidden", NULL};
    const json_t *cases = reader_member(r, root, "cases");
    if (!cases)
        return -1;
    size_t back = reader_key(r, "cases");
    if (reader_check_keys(r, cases, keys) || parse_case_list(r, cases, CASE_CORRECTNESS, task) ||
        parse_case_list(r, cases, CASE_BENCHMARK, task) || parse_hidden(r, cases, task) ||
        check_devices(r, task, task->devices))
        return -1;
    for (size_t i = 0; i < task->n_cases; i++)
        if (check_devices(r, task, task->cases[i].devices))
            return -1;
    for (size_t i = 0; i < task->n_hidden; i++)
        if (check_devices(r, task, task->hidden[i].devices))
            return -1;
    reader_leave(r, back);
    return 0;
}
