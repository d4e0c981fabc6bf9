/* What callers may know of the tasks: lists, statements, skeletons. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../quote.h"
#include "../task/skeleton.h"
#include "engine.h"

static int give_text(json_t *json, char **ret, kgrade_error *err)
{
    *ret = json ? json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(json);
    return *ret ? 0 : fail(err, "out_of_memory", NULL, "The answer could not be written as JSON.");
}

/* An interpreted language is one for each interpreter that there is; the first goes without its name. */
static void add_language(const kgrade *engine, const struct device_language *language,
                         json_t *languages)
{
    if (!language->interpreted)
        json_array_append_new(languages, json_string(language->name));
    for (size_t i = 0; language->interpreted && i < engine->pythons.n; i++)
        json_array_append_new(
            languages, i ? json_sprintf("%s:%s", language->name, engine->pythons.items[i].name)
                         : json_string(language->name));
}

static json_t *devices_json(const kgrade *engine, const struct task *task)
{
    json_t *devices = json_array();
    for (size_t i = 0; device_registry[i]; i++) {
        if (!task_devices_include(task->devices, device_registry[i]->name))
            continue;
        json_t *languages = json_array();
        for (const struct device_language *l = device_registry[i]->languages; l->name; l++)
            add_language(engine, l, languages);
        json_array_append_new(devices, json_pack("{s:s, s:o}", "name", device_registry[i]->name,
                                                 "languages", languages));
    }
    return devices;
}

int kgrade_tasks_json(kgrade *engine, char **ret_json, kgrade_error *err)
{
    cleanup_task_set struct task_set *tasks = engine_tasks(engine);
    json_t *list = json_array();
    for (size_t i = 0; i < tasks->n; i++) {
        const struct task *t = tasks->tasks[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:o}", "name", t->name, "title", t->title,
                                        "hash", t->hash, "devices", devices_json(engine, t)));
    }
    return give_text(json_pack("{s:o}", "tasks", list), ret_json, err);
}

static const struct task *find(const struct task_set *tasks, const char *name, kgrade_error *err)
{
    const struct task *task = task_set_find(tasks, name);
    if (!task)
        fail(err, "unknown_task", "`kgrade tasks` and GET /tasks list the tasks.",
             "There is no task \"%s\".", quote(name).text);
    return task;
}

int kgrade_task_json(kgrade *engine, const char *name, char **ret_json, kgrade_error *err)
{
    cleanup_task_set struct task_set *tasks = engine_tasks(engine);
    const struct task *task = find(tasks, name, err);
    if (!task)
        return -1;
    json_t *json = json_loads(task->text, JSON_REJECT_DUPLICATES, NULL);
    /* Where hidden cases are drawn from is not for those who are graded on them. */
    json_object_del(json_object_get(json, "cases"), "hidden");
    json_object_set_new(json, "statement", json_string(task->statement));
    json_object_set_new(json, "hash", json_string(task->hash));
    json_object_set_new(json, "devices", devices_json(engine, task));
    return give_text(json, ret_json, err);
}

int kgrade_task_skeleton(kgrade *engine, const char *name, const char *device, const char *language,
                         char **ret_source, kgrade_error *err)
{
    cleanup_task_set struct task_set *tasks = engine_tasks(engine);
    const struct task *task = find(tasks, name, err);
    if (!task)
        return -1;
    const struct device *known = device_find(device);
    if (known && language && !device_language_find(known, language))
        return fail(err, "unknown_language", "Leave the language out to get the device's first.",
                    "Device \"%s\" does not take the language \"%s\".", device,
                    quote(language).text);
    *ret_source = skeleton_source(task, device, language, err);
    return *ret_source ? 0 : -1;
}
