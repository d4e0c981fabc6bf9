/* $.python of task.json: a task whose inputs and answers come from Python. */
#include <string.h>

#include "parse.h"

#define MAX_NAME 63
#define MAX_VARIANTS TASK_MAX_CASES
#define VARIANT "variant"

/* A plain file name that Python can import. */
static bool is_module(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    size_t stem = strspn(name, letters);
    return stem && stem <= MAX_NAME && !strcmp(name + stem, ".py") && strcmp(name, "kgrade.py");
}

static int check_files(struct reader *r, const json_t *object)
{
    const json_t *list = reader_array(r, object, "files", 1, TASK_MAX_PYTHON_FILES);
    if (!list)
        return -1;
    size_t back = reader_key(r, "files");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        reader_index(r, i);
        if (!name || !is_module(name))
            return reader_complain(r, "Letters, digits and underscores, then .py.",
                                   "this is not the name of a Python file.");
        for (size_t j = 0; j < i; j++)
            if (!strcmp(json_string_value(json_array_get(list, j)), name))
                return reader_complain(r, "Name each file once.", "\"%s\" is named twice.", name);
        reader_leave(r, back);
        back = reader_key(r, "files");
    }
    reader_leave(r, back);
    return 0;
}

static int check_form(struct reader *r, const json_t *object)
{
    const char *form;
    if (reader_string(r, object, "form", MAX_NAME, &form))
        return -1;
    if (!strcmp(form, "data") || !strcmp(form, "arguments") || !strcmp(form, "model"))
        return 0;
    reader_key(r, "form");
    return reader_complain(r, "Use data, arguments or model.", "\"%s\" is no form.", form);
}

static int check_functions(struct reader *r, const json_t *object)
{
    static const char *const optional[] = {"init", "check"};
    const char *name;
    if (reader_string(r, object, "inputs", MAX_NAME, &name) ||
        reader_string(r, object, "reference", MAX_NAME, &name))
        return -1;
    for (size_t i = 0; i < sizeof optional / sizeof optional[0]; i++)
        if (json_object_get(object, optional[i]) &&
            reader_string(r, object, optional[i], MAX_NAME, &name))
            return -1;
    return 0;
}

static int check_variants(struct reader *r, const json_t *object)
{
    const json_t *list = reader_array(r, object, "variants", 1, MAX_VARIANTS);
    if (!list)
        return -1;
    size_t back = reader_key(r, "variants");
    for (size_t i = 0; i < json_array_size(list); i++) {
        static const char *const keys[] = {"inputs", "data", "outputs", "init", NULL};
        const json_t *one = json_array_get(list, i);
        size_t back_to_list = reader_index(r, i);
        if (reader_check_keys(r, one, keys))
            return -1;
        for (size_t k = 0; k < 3; k++)
            if (!json_is_object(json_object_get(one, keys[k])))
                return reader_complain(r, "Have it written by `kgrade describe-task`.",
                                       "\"%s\" is not an object.", keys[k]);
        reader_leave(r, back_to_list);
    }
    reader_leave(r, back);
    return 0;
}

int parse_python(struct reader *r, const json_t *root, struct task *task)
{
    static const char *const keys[] = {"form", "files", "inputs", "reference", "init", "check",
                                       "seed", "seeds", "double", "variants",  NULL};
    json_t *object = json_object_get(root, "python");
    int64_t seed;
    if (!object)
        return 0;
    size_t back = reader_key(r, "python");
    if (reader_check_keys(r, object, keys) || check_files(r, object) || check_form(r, object) ||
        check_functions(r, object) || check_variants(r, object) ||
        reader_integer(r, object, "seed", 0, INT32_MAX, &seed))
        return -1;
    if (json_object_get(object, "seeds") && reader_integer(r, object, "seeds", 1, INT32_MAX, &seed))
        return -1;
    if (!json_is_boolean(json_object_get(object, "double")))
        return reader_complain(r, "Write true or false.", "\"double\" is not a boolean.");
    reader_leave(r, back);
    task->python = json_incref(object);
    return 0;
}

int parse_check_variants(struct reader *r, const struct task *task)
{
    size_t n = json_array_size(json_object_get(task->python, "variants")), first = 0;
    if (!task->python)
        return 0;
    while (first < task->n_params && task->params[first].kind != PARAM_DIM)
        first++;
    if (first == task->n_params || strcmp(task->params[first].name, VARIANT))
        return reader_complain(r, "Have it written by `kgrade describe-task`.",
                               "the first dim of a foreign task is \"" VARIANT "\".");
    if (task->n_hidden)
        return reader_complain(r, "Leave them out.", "a foreign task has no hidden ranges.");
    for (size_t i = 0; i < task->n_cases; i++)
        if (task->cases[i].dims[0] < 0 || (size_t)task->cases[i].dims[0] >= n)
            return reader_complain(r, "Have it written by `kgrade describe-task`.",
                                   "a case has variant %lld of %zu.",
                                   (long long)task->cases[i].dims[0], n);
    return 0;
}
