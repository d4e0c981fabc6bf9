/* problem.json of a foreign problem -> task.json: what its Python gives, found out by running it in a jail. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../grade/jails.h"
#include "../grade/slot.h"
#include "../grade/telling.h"
#include "../judge/judge.h"
#include "../quote.h"
#include "../task/task.h"

#define DEFAULT_DEVICE "opencl"

static char *path_in(const char *folder, const char *name, kgrade_error *err)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) >= 0)
        return path;
    fail(err, "out_of_memory", NULL, "No memory for a path.");
    return NULL;
}

static int read_text(const char *folder, const char *name, json_t **ret, kgrade_error *err)
{
    cleanup_free char *path = path_in(folder, name, err);
    cleanup_bytes struct bytes content = {0};
    if (!path || io_read_file(path, TASK_MAX_FILE_BYTES, &content, err))
        return -1;
    *ret = json_stringn((const char *)content.data, content.size);
    return *ret ? 0
                : fail(err, "problem_invalid", "Save it as UTF-8.", "%s is no text.",
                       quote(path).text);
}

/* A name, not a path to elsewhere. */
static bool is_plain(const char *name)
{
    return name && name[0] && name[0] != '.' && !strchr(name, '/') && strlen(name) < 128;
}

static int read_files(const char *folder, const json_t *problem, json_t *files, kgrade_error *err)
{
    const json_t *list = json_object_get(problem, "files");
    size_t n = json_array_size(list);
    if (n == 0 || n > TASK_MAX_PYTHON_FILES)
        return fail(err, "problem_invalid", "tasks/README.md describes the file.",
                    "%s/problem.json names no files, or more than %d.", folder,
                    TASK_MAX_PYTHON_FILES);
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        json_t *text;
        if (!is_plain(name))
            return fail(err, "problem_invalid", "Name files of the same folder.",
                        "%s/problem.json: files[%zu] is no file's name.", folder, i);
        if (read_text(folder, name, &text, err))
            return -1;
        json_object_set_new(files, name, text);
    }
    return 0;
}

static json_t *read_problem(const char *folder, kgrade_error *err)
{
    json_error_t where;
    json_t *text = NULL;
    if (read_text(folder, "problem.json", &text, err))
        return NULL;
    json_auto_t *problem = json_loads(json_string_value(text), JSON_REJECT_DUPLICATES, &where);
    json_decref(text);
    json_auto_t *files = json_object();
    if (!json_is_object(problem)) {
        fail(err, "problem_invalid", "Correct the JSON at that line.",
             "%s/problem.json: line %d, column %d: %s.", folder, where.line, where.column,
             where.text);
        return NULL;
    }
    if (read_files(folder, problem, files, err))
        return NULL;
    json_t *ret = json_pack("{s:O, s:O}", "problem", problem, "files", files);
    if (!ret)
        fail(err, "out_of_memory", NULL, "No memory for a problem.");
    return ret;
}

/* The problem may compute on the device: none of the grades is timed meanwhile. */
static int ask(struct device_slot *slot, bool alone, struct judge_client *describer,
               const char *problem, struct telling *telling, char **ret, struct finding *f)
{
    if (alone ? slot_take(slot) : slot_share(slot))
        return telling_cancelled(telling, f);
    int result = judge_describe(describer, problem, ret, f);
    slot_give(slot);
    return result;
}

/* The interpreter imports its frameworks while others have the device. */
static int run_once(kgrade *engine, const struct device *device, json_t *bundle, bool alone,
                    struct telling *telling, char **ret, struct finding *f)
{
    cleanup_judge struct judge_client describer = JUDGE_NONE;
    json_object_set_new(bundle, "alone", json_boolean(alone));
    cleanup_free char *problem = json_dumps(bundle, JSON_COMPACT);
    if (!problem)
        return finding_set(f, KGRADE_INFRASTRUCTURE_ERROR, "out_of_memory", NULL,
                           "No memory for a problem.");
    if (telling_proceed(telling, "describing", 0, 1, f))
        return -1;
    int result = judge_open_describer(engine, device, &engine->pythons.items[0], &describer, f) ||
                 ask(engine_slot(engine, device), alone, &describer, problem, telling, ret, f);
    /* What was sent to the caller to stop it may have reached the problem's process first. */
    return !result ? 0 : telling_again(telling) ? -1 : telling_cancelled(telling, f);
}

/* Libraries that find no memory do not always say so. */
static bool is_crowding(const struct finding *f)
{
    return !strcmp(f->reason.code, "judge_memory") ||
           (!strcmp(f->reason.code, "reference_failed") &&
            (strstr(f->reason.message, "CUBLAS_STATUS") ||
             strstr(f->reason.message, "CUDNN_STATUS")));
}

/* Several may be described at a time.  What finds no memory then is done once more with nobody beside it. */
static int run(kgrade *engine, const struct device *device, json_t *bundle, struct telling *telling,
               char **ret, kgrade_error *err)
{
    struct finding finding = {.log = NULL};
    if (engine->pythons.n == 0)
        return fail(err, "no_python", "Name one that has what the problem imports: --python.",
                    "The problem is in Python, and no interpreter is named.");
    jails_ask_while_waiting(telling_again, telling);
    int result = run_once(engine, device, bundle, false, telling, ret, &finding);
    if (result && is_crowding(&finding)) {
        finding_free(&finding);
        finding = (struct finding){.log = NULL};
        result = run_once(engine, device, bundle, true, telling, ret, &finding);
    }
    jails_ask_while_waiting(NULL, NULL);
    if (result && err)
        *err = finding.reason;
    finding_free(&finding);
    return result;
}

int kgrade_describe_task(kgrade *engine, const char *folder, const char *device_name,
                         kgrade_progress progress, void *data, kgrade_error *err)
{
    struct telling telling = {.progress = progress, .data = data, .what = "The description"};
    json_auto_t *problem = NULL;
    cleanup_free char *text = NULL, *path = NULL;
    cleanup_task struct task *task = NULL;
    const struct device *device = device_find(device_name ? device_name : DEFAULT_DEVICE);
    if (!device)
        return fail(err, "unknown_device", "`kgrade doctor` lists the devices.",
                    "There is no device \"%s\".", quote(device_name).text);
    problem = read_problem(folder, err);
    path = path_in(folder, "task.json", err);
    if (!problem || !path || run(engine, device, problem, &telling, &text, err))
        return -1;
    /* What problem.json says was only copied: the rules of task.json tell whether it can be. */
    return task_parse(text, strlen(text), path, &task, err) ||
                   io_write_file(path, text, strlen(text), err)
               ? -1
               : 0;
}
