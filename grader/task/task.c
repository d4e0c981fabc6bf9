#define _GNU_SOURCE
#include "task.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "../hash.h"

#define MAX_OPTIONAL_PARTS 32
#define BASELINE_PREFIX "baseline."
#define REFERENCE "reference.c"
#define REFERENCE_PREFIX "reference."

const char *case_kind_name(enum case_kind kind)
{
    switch (kind) {
    case CASE_CORRECTNESS:
        return "correctness";
    case CASE_BENCHMARK:
        return "benchmark";
    case CASE_HIDDEN:
        return "hidden";
    }
    return "unknown";
}

const char *param_kind_name(enum param_kind kind)
{
    switch (kind) {
    case PARAM_IN:
        return "in";
    case PARAM_OUT:
        return "out";
    case PARAM_INOUT:
        return "inout";
    case PARAM_DIM:
        return "dim";
    case PARAM_SCALAR:
        return "scalar";
    case PARAM_STREAM:
        return "stream";
    }
    return "unknown";
}

const char *distribution_kind_name(enum distribution_kind kind)
{
    switch (kind) {
    case DISTRIBUTION_UNIFORM:
        return "uniform";
    case DISTRIBUTION_NORMAL:
        return "normal";
    case DISTRIBUTION_INTEGER:
        return "integer";
    case DISTRIBUTION_PERMUTATION:
        return "permutation";
    case DISTRIBUTION_SORTED:
        return "sorted";
    }
    return "unknown";
}

void task_free(struct task *task)
{
    if (!task)
        return;
    free(task->name);
    free(task->title);
    free(task->statement);
    free(task->entry);
    free(task->text);
    free(task->folder);
    for (size_t i = 0; i < task->n_params; i++) {
        free(task->params[i].name);
        for (size_t axis = 0; axis < task->params[i].rank; axis++)
            expr_free(task->params[i].shape[axis]);
    }
    expr_free(task->roofline_bytes);
    expr_free(task->roofline_operations);
    free(task);
}

bool task_devices_include(const char *devices, const char *device)
{
    size_t length = strlen(device);
    if (!*devices)
        return true;
    for (const char *at = devices; *at;) {
        size_t word = strcspn(at, " ");
        if (word == length && memcmp(at, device, length) == 0)
            return true;
        at += word + (at[word] == ' ');
    }
    return false;
}

const struct tolerance *task_tolerance(const struct task *task, enum dtype dtype)
{
    for (size_t i = 0; i < task->n_tolerances; i++)
        if (task->tolerances[i].dtype == dtype)
            return &task->tolerances[i];
    return NULL;
}

struct expr_scope task_scope(const struct task *task, const int64_t *dims)
{
    struct expr_scope scope = {0};
    for (size_t i = 0; i < task->n_params; i++) {
        if (task->params[i].kind != PARAM_DIM)
            continue;
        scope.names[scope.n] = task->params[i].name;
        scope.values[scope.n] = dims[scope.n];
        scope.n++;
    }
    return scope;
}

json_t *task_dims_json(const struct task *task, const int64_t *dims)
{
    struct expr_scope scope = task_scope(task, dims);
    json_t *json = json_object();
    for (size_t i = 0; i < scope.n; i++)
        json_object_set_new(json, scope.names[i], json_integer(scope.values[i]));
    return json;
}

/* A file of the task's folder, with its name, for the hash. */
struct part {
    char name[256];
    struct bytes content;
};

struct parts {
    struct part list[3 + MAX_OPTIONAL_PARTS];
    size_t n;
};

static void parts_free(struct parts *parts)
{
    for (size_t i = 0; i < parts->n; i++)
        bytes_free(&parts->list[i].content);
}

static int read_part(const char *folder, const char *name, struct parts *parts, kgrade_error *err)
{
    struct part *part = &parts->list[parts->n];
    cleanup_free char *path = NULL;
    if (asprintf(&path, "%s/%s", folder, name) < 0) {
        path = NULL;
        return fail(err, "out_of_memory", NULL, "No memory to read %s.", name);
    }
    kgrade_error cause;
    if (io_read_file(path, TASK_MAX_FILE_BYTES, &part->content, &cause))
        return fail(err, "task_invalid",
                    "A task's folder holds task.json, statement.md, reference.c, and per device a "
                    "baseline and perhaps a reference, each a plain file.",
                    "%s", cause.message);
    snprintf(part->name, sizeof part->name, "%s", name);
    parts->n++;
    return 0;
}

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Baselines and devices' references. */
static int is_optional_part(const struct dirent *entry)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const char *name = entry->d_name;
    bool reference = begins_with(name, REFERENCE_PREFIX) && strcmp(name, REFERENCE) != 0;
    return (reference || begins_with(name, BASELINE_PREFIX)) && name[strspn(name, plain)] == 0;
}

/* Byte order, so that the hash does not depend on the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int read_optional_parts(const char *folder, struct parts *parts, kgrade_error *err)
{
    struct dirent **found = NULL;
    int n = scandir(folder, &found, is_optional_part, by_name);
    if (n < 0)
        return fail_errno(err, "task_invalid", NULL, "Cannot list %s", folder);
    int result = 0;
    if (n > MAX_OPTIONAL_PARTS)
        result = fail(err, "task_invalid", "Keep one baseline and one reference per device.",
                      "%s holds %d baselines and references; at most %d are allowed.", folder, n,
                      MAX_OPTIONAL_PARTS);
    for (int i = 0; i < n; i++) {
        if (result == 0)
            result = read_part(folder, found[i]->d_name, parts, err);
        free(found[i]);
    }
    free(found);
    return result;
}

static void hash_all(const struct parts *parts, char ret[HASH_HEX])
{
    struct hash_part list[2 * (3 + MAX_OPTIONAL_PARTS)];
    size_t n = 0;
    for (size_t i = 0; i < parts->n; i++) {
        const struct part *part = &parts->list[i];
        list[n++] = (struct hash_part){part->name, strlen(part->name)};
        list[n++] = (struct hash_part){part->content.data, part->content.size};
    }
    hash_parts(list, n, ret);
}

/* The last component of a path that does not end in a slash. */
static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int set_statement(struct task *task, const struct bytes *text, const char *folder,
                         kgrade_error *err)
{
    json_t *string = json_stringn((const char *)text->data, text->size);
    if (!string || memchr(text->data, 0, text->size)) {
        json_decref(string);
        return fail(err, "task_invalid", "Save the statement as UTF-8 text.",
                    "%s/statement.md is not UTF-8 text.", folder);
    }
    json_decref(string);
    free(task->statement);
    task->statement = strdup((const char *)text->data);
    return task->statement ? 0 : fail(err, "out_of_memory", NULL, "No memory for a statement.");
}

int task_load(const char *folder, struct task **ret, kgrade_error *err)
{
    cleanup_free char *plain = strdup(folder);
    if (!plain)
        return fail(err, "out_of_memory", NULL, "No memory for a task.");
    for (size_t n = strlen(plain); n > 1 && plain[n - 1] == '/'; n--)
        plain[n - 1] = 0;
    struct stat st;
    if (stat(plain, &st) || !S_ISDIR(st.st_mode))
        return fail(err, "unknown_task", "List the tasks to see which there are.",
                    "There is no task folder %s.", plain);

    __attribute__((cleanup(parts_free))) struct parts parts = {0};
    if (read_part(plain, "task.json", &parts, err) ||
        read_part(plain, "statement.md", &parts, err) || read_part(plain, REFERENCE, &parts, err) ||
        read_optional_parts(plain, &parts, err))
        return -1;

    cleanup_free char *origin = NULL;
    if (asprintf(&origin, "%s/task.json", plain) < 0) {
        origin = NULL;
        return fail(err, "out_of_memory", NULL, "No memory for a task.");
    }
    const struct bytes *json = &parts.list[0].content;
    cleanup_task struct task *task = NULL;
    if (task_parse((const char *)json->data, json->size, origin, &task, err))
        return -1;
    /* "." and ".." say nothing about the folder's name. */
    const char *name = last_component(plain);
    if (strspn(name, ".") != strlen(name) && strcmp(name, task->name) != 0)
        return fail(err, "task_invalid", "Give the folder and the task the same name.",
                    "%s: $.name: the task is called \"%s\" but its folder \"%s\".", origin,
                    task->name, name);
    if (set_statement(task, &parts.list[1].content, plain, err))
        return -1;
    hash_all(&parts, task->hash);
    task->folder = steal_pointer(&plain);
    *ret = steal_pointer(&task);
    return 0;
}
