/* The public way in: requests are checked here, before anything is started for them. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../build/bundle.h"
#include "../compare/compare.h"
#include "../profile/profile.h"
#include "../quote.h"
#include "../recording.h"
#include "grade.h"
#include "result.h"

static bool is_utf8(const char *text, size_t size)
{
    json_t *string = json_stringn(text, size);
    json_decref(string);
    return string != NULL && !memchr(text, 0, size);
}

static bool is_id(const char *id)
{
    return strspn(id, "0123456789abcdef") == KGRADE_ID_DIGITS && !id[KGRADE_ID_DIGITS];
}

static int check_names(const struct task_set *tasks, const char *task, const char *device,
                       const struct task **ret_task, const struct device **ret_device,
                       kgrade_error *err)
{
    *ret_task = task ? task_set_find(tasks, task) : NULL;
    if (!*ret_task)
        return fail(err, "unknown_task", "`kgrade tasks` and GET /tasks list the tasks.",
                    "There is no task \"%s\".", quote(task).text);
    *ret_device = device ? device_find(device) : NULL;
    if (!*ret_device)
        return fail(err, "unknown_device", "`kgrade doctor` shows what each device needs.",
                    "There is no device \"%s\"; built in are: %s.", quote(device).text,
                    device_names());
    if (!task_devices_include((*ret_task)->devices, device))
        return fail(err, "task_not_for_device", NULL, "Task \"%s\" is for these devices: %s.", task,
                    (*ret_task)->devices);
    return 0;
}

static int check_request(const struct task_set *tasks, struct python_list *pythons,
                         const kgrade_request *r, const struct task **ret_task,
                         const struct device **ret_device,
                         const struct device_language **ret_language, kgrade_error *err)
{
    if (check_names(tasks, r->task, r->device, ret_task, ret_device, err))
        return -1;
    if (r->id && !is_id(r->id))
        return fail(err, "bad_id", "Leave the id out to get a random one.",
                    "The id \"%s\" is not made of %d lower-case hex digits.", quote(r->id).text,
                    KGRADE_ID_DIGITS);
    *ret_language =
        r->language ? device_language_find(*ret_device, r->language) : (*ret_device)->languages;
    if (*ret_language && (*ret_language)->interpreted && !python_find(pythons, r->language))
        return fail(err, "no_python",
                    "Name one with --python or `python =` in the configuration; `kgrade doctor` "
                    "shows those that there are.",
                    "There is no interpreter for the language \"%s\".", quote(r->language).text);
    if (!*ret_language)
        return fail(err, "unknown_language", "Leave the language out to get the device's first.",
                    "Device \"%s\" does not take the language \"%s\"; its first is \"%s\".",
                    r->device, quote(r->language).text, (*ret_device)->languages[0].name);
    if (!r->source || r->source_size == 0)
        return fail(err, "empty_source", "`kgrade new TASK` prints a source to start from.",
                    "The source is empty.");
    if (r->source_size > KGRADE_MAX_SOURCE_BYTES)
        return fail(err, "source_too_large", "Leave out what the kernel does not need.",
                    "The source has %zu bytes; at most %u are taken.", r->source_size,
                    KGRADE_MAX_SOURCE_BYTES);
    if (!is_utf8(r->source, r->source_size))
        return fail(err, "source_not_utf8", "Save the source as UTF-8 without NUL bytes.",
                    "The source is not UTF-8 text.");
    cleanup_bundle struct bundle bundle = {.json = NULL};
    return bundle_open(*ret_language, r->source, r->source_size, &bundle, err);
}

int kgrade_check_request(kgrade *engine, const kgrade_request *request, kgrade_error *err)
{
    cleanup_task_set struct task_set *tasks = engine_tasks(engine);
    const struct task *task;
    const struct device *device;
    const struct device_language *language;
    return check_request(tasks, &engine->pythons, request, &task, &device, &language, err);
}

/* What does not build has no calls; what the machine could not do it cannot do again. */
static bool can_be_profiled(const kgrade_result *result)
{
    return result->verdict != KGRADE_BUILD_FAILED && result->verdict != KGRADE_INFRASTRUCTURE_ERROR;
}

static int add_profile(kgrade_result *result, const char *report, kgrade_error *err)
{
    json_auto_t *json = json_loads(result->json, 0, NULL);
    if (json_object_set_new(json, "profile", json_loads(report, 0, NULL)))
        return fail(err, "out_of_memory", NULL, "There is no memory for a profile.");
    char *text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    if (!text)
        return fail(err, "out_of_memory", NULL, "There is no memory for a profile.");
    free(result->json);
    result->json = text;
    return 0;
}

/* Nothing can be cancelled any more. */
static int tell_done(kgrade_progress progress, void *data)
{
    if (progress)
        progress(data, "done", 1, 1);
    return 0;
}

int kgrade_grade(kgrade *engine, const kgrade_request *request, kgrade_progress progress,
                 void *data, kgrade_result **ret, kgrade_error *err)
{
    cleanup_task_set struct task_set *tasks = engine_tasks(engine);
    const struct task *task;
    const struct device *device;
    const struct device_language *language;
    if (check_request(tasks, &engine->pythons, request, &task, &device, &language, err))
        return -1;
    kgrade_result *result = NULL;
    if (grade_source(engine, task, device, language, request, progress, data, &result, err))
        return -1;
    cleanup_free char *report = NULL;
    if (request->profile && can_be_profiled(result) &&
        (profile_source(engine, task, device, language, request, NULL, progress, data, &report,
                        err) ||
         add_profile(result, report, err))) {
        kgrade_result_free(result);
        return -1;
    }
    *ret = result;
    return tell_done(progress, data);
}

int kgrade_profile(kgrade *engine, const kgrade_request *request,
                   const kgrade_profile_options *options, kgrade_progress progress, void *data,
                   char **ret_json, kgrade_error *err)
{
    cleanup_task_set struct task_set *tasks = engine_tasks(engine);
    const struct task *task;
    const struct device *device;
    const struct device_language *language;
    if (check_request(tasks, &engine->pythons, request, &task, &device, &language, err))
        return -1;
    return profile_source(engine, task, device, language, request, options, progress, data,
                          ret_json, err)
               ? -1
               : tell_done(progress, data);
}

int kgrade_compare(kgrade *engine, const kgrade_request *a, const kgrade_request *b,
                   kgrade_progress progress, void *data, char **ret_json, kgrade_error *err)
{
    cleanup_task_set struct task_set *tasks = engine_tasks(engine);
    struct compare_request request = {.sides = {a, b}};
    const struct task *task;
    const struct device *device;
    if (check_request(tasks, &engine->pythons, a, &request.task, &request.device,
                      &request.languages[0], err) ||
        check_request(tasks, &engine->pythons, b, &task, &device, &request.languages[1], err))
        return -1;
    if (task != request.task || device != request.device)
        return fail(err, "different_requests", NULL,
                    "Both candidates must be for the same task and device.");
    return compare_sources(engine, &request, progress, data, ret_json, err)
               ? -1
               : tell_done(progress, data);
}

int kgrade_replay(kgrade *engine, const char *task_name, const void *data, size_t size,
                  kgrade_progress progress, void *progress_data, kgrade_result **ret,
                  kgrade_error *err)
{
    cleanup_task_set struct task_set *tasks = engine_tasks(engine);
    const struct task *task;
    const struct device *device;
    cleanup_recording struct recording *recording = NULL;
    if (recording_parse(data, size, &recording, err) ||
        check_names(tasks, task_name, recording->device, &task, &device, err))
        return -1;
    return grade_recording(engine, task, device, steal_pointer(&recording), progress, progress_data,
                           ret, err)
               ? -1
               : tell_done(progress, progress_data);
}
