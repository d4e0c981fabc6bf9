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

#define MAX_OPTIONAL_FILES 32
#define MAX_FILES (MANDATORY_FILES + TASK_MAX_PYTHON_FILES + MAX_OPTIONAL_FILES)
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
    for (size_t i = 0; i < task->n_files; i++)
        bytes_free(&task->files[i].content);
    free(task->files);
    for (size_t i = 0; i < task->n_params; i++) {
        free(task->params[i].name);
        for (size_t axis = 0; axis < task->params[i].rank; axis++)
            expr_free(task->params[i].shape[axis]);
    }
    expr_free(task->roofline_bytes);
    expr_free(task->roofline_operations);
    json_decref(task->python);
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

const struct bytes *task_file(const struct task *task, const char *name)
{
    for (size_t i = 0; i < task->n_files; i++)
        if (!strcmp(task->files[i].name, name))
            return &task->files[i].content;
    return NULL;
}

/* What is read of a task's folder: these three files first, the last not of a foreign task. */
enum { FILE_TASK, FILE_STATEMENT, FILE_REFERENCE, MANDATORY_FILES };

struct files {
    struct task_file *list; /* room for MAX_FILES */
    size_t n;
};

static void files_free(struct files *files)
{
    for (size_t i = 0; i < files->n; i++)
        bytes_free(&files->list[i].content);
    free(files->list);
}

static int read_file(const char *folder, const char *name, struct files *files, kgrade_error *err)
{
    struct task_file *file = &files->list[files->n];
    cleanup_free char *path = NULL;
    if (asprintf(&path, "%s/%s", folder, name) < 0) {
        path = NULL;
        return fail(err, "out_of_memory", NULL, "No memory to read %s.", name);
    }
    kgrade_error cause;
    if (io_read_file(path, TASK_MAX_FILE_BYTES, &file->content, &cause))
        return fail(err, "task_invalid",
                    "A task's folder holds task.json, statement.md, reference.c, and per device a "
                    "baseline and perhaps a reference, each a plain file.",
                    "%s", cause.message);
    snprintf(file->name, sizeof file->name, "%s", name);
    files->n++;
    return 0;
}

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Baselines and devices' references. */
static int is_optional_file(const struct dirent *entry)
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

static int read_optional_files(const char *folder, struct files *files, kgrade_error *err)
{
    struct dirent **found = NULL;
    int n = scandir(folder, &found, is_optional_file, by_name);
    if (n < 0)
        return fail_errno(err, "task_invalid", NULL, "Cannot list %s", folder);
    int result = 0;
    if (n > MAX_OPTIONAL_FILES)
        result = fail(err, "task_invalid", "Keep one baseline and one reference per device.",
                      "%s holds %d baselines and references; at most %d are allowed.", folder, n,
                      MAX_OPTIONAL_FILES);
    for (int i = 0; i < n; i++) {
        if (result == 0)
            result = read_file(folder, found[i]->d_name, files, err);
        free(found[i]);
    }
    free(found);
    return result;
}

/* The Python of a foreign task, but for what is read as any reference. */
static int read_python_files(const char *folder, const json_t *python, struct files *files,
                             kgrade_error *err)
{
    const json_t *list = json_object_get(python, "files");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (!begins_with(name, REFERENCE_PREFIX) && read_file(folder, name, files, err))
            return -1;
    }
    return 0;
}

/* Every file that is named has been read. */
static int check_python_files(const struct task *task, const char *folder, kgrade_error *err)
{
    const json_t *list = json_object_get(task->python, "files");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        const struct bytes *content = task_file(task, name);
        json_auto_t *text = content ? json_stringn((char *)content->data, content->size) : NULL;
        if (!text)
            return fail(err, "task_invalid", "Put the file beside task.json, as UTF-8 text.",
                        "%s/%s, which task.json names, is no text file.", folder, name);
    }
    return 0;
}

char *task_python_files(const struct task *task)
{
    const json_t *list = json_object_get(task->python, "files");
    json_auto_t *files = json_object();
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        const struct bytes *content = task_file(task, name);
        if (!content ||
            json_object_set_new(files, name, json_stringn((char *)content->data, content->size)))
            return NULL;
    }
    json_auto_t *bundle = json_pack("{s:O}", "files", files);
    return bundle ? json_dumps(bundle, JSON_COMPACT) : NULL;
}

static void hash_all(const struct files *files, char ret[HASH_HEX])
{
    struct hash_part list[2 * MAX_FILES];
    size_t n = 0;
    for (size_t i = 0; i < files->n; i++) {
        const struct task_file *file = &files->list[i];
        list[n++] = (struct hash_part){file->name, strlen(file->name)};
        list[n++] = (struct hash_part){file->content.data, file->content.size};
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

    __attribute__((cleanup(files_free))) struct files files = {
        calloc(MAX_FILES, sizeof *files.list), 0};
    if (!files.list)
        return fail(err, "out_of_memory", NULL, "No memory for a task.");
    if (read_file(plain, "task.json", &files, err) || read_file(plain, "statement.md", &files, err))
        return -1;

    cleanup_free char *origin = NULL;
    if (asprintf(&origin, "%s/task.json", plain) < 0) {
        origin = NULL;
        return fail(err, "out_of_memory", NULL, "No memory for a task.");
    }
    const struct bytes *json = &files.list[FILE_TASK].content;
    cleanup_task struct task *task = NULL;
    if (task_parse((const char *)json->data, json->size, origin, &task, err))
        return -1;
    if (task->python ? read_python_files(plain, task->python, &files, err)
                     : read_file(plain, REFERENCE, &files, err))
        return -1;
    if (read_optional_files(plain, &files, err))
        return -1;
    /* "." and ".." say nothing about the folder's name. */
    const char *name = last_component(plain);
    if (strspn(name, ".") != strlen(name) && strcmp(name, task->name) != 0)
        return fail(err, "task_invalid", "Give the folder and the task the same name.",
                    "%s: $.name: the task is called \"%s\" but its folder \"%s\".", origin,
                    task->name, name);
    if (set_statement(task, &files.list[FILE_STATEMENT].content, plain, err))
        return -1;
    hash_all(&files, task->hash);
    task->n_files = files.n;
    task->files = steal_pointer(&files.list);
    files.n = 0;
    if (check_python_files(task, plain, err))
        return -1;
    *ret = steal_pointer(&task);
    return 0;
}
