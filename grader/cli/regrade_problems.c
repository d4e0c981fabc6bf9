/* `kgrade regrade`: problems of boards that are Python, made tasks of in FOLDER/tasks. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../regrade/problem.h"
#include "progress.h"
#include "regrade.h"
#include "text.h"
#include "view.h"

/* Whose PyTorch makes the inputs of problems that say so. */
#define GPU "cuda"
#define MAIN_FILE "submission.py"

char *problems_folder(const char *folder)
{
    char *path;
    return asprintf(&path, "%s/tasks", folder) < 0 ? NULL : path;
}

/* --- Making tasks ------------------------------------------------------------------------------- */

static int cannot(struct regrade_carried *ret, const char *code, const char *message)
{
    *ret = (struct regrade_carried){.skip_code = code, .skip_message = message};
    return 0;
}

static bool is_task(const struct site *site, const char *name)
{
    return regrade_find_task(&(struct regrade_wishes){.tasks = site->tasks}, name) != NULL;
}

static bool check_gpu(kgrade *engine)
{
    cleanup_free char *text = NULL;
    if (kgrade_health_check(engine, GPU, NULL, NULL, NULL) ||
        kgrade_health(engine, GPU, &text, NULL))
        return false;
    json_auto_t *health = json_loads(text, 0, NULL);
    return json_is_true(json_object_get(health, "ok"));
}

/* Whether this machine has a card that works; found out once. */
static bool has_gpu(struct site *site)
{
    if (site->gpu == SITE_GPU_UNKNOWN)
        site->gpu = check_gpu(site->engine) ? SITE_GPU_WORKS : SITE_GPU_NONE;
    return site->gpu == SITE_GPU_WORKS;
}

static bool needs_gpu(const struct regrade_problem *problem)
{
    const json_t *devices = json_object_get(problem->json, "devices");
    return json_array_size(devices) == 1 &&
           !strcmp(json_string_value(json_array_get(devices, 0)), GPU);
}

/* Where its entries are graded; NULL: as a server has it. */
static const char *device_for(struct site *site, const struct regrade_problem *problem)
{
    if (site->cli->device || !site->engine)
        return site->cli->device;
    return needs_gpu(problem) || has_gpu(site) ? GPU : CLI_DEFAULT_DEVICE;
}

static int reload(struct site *site, kgrade_error *err)
{
    cleanup_free char *text = NULL;
    if (kgrade_reload_tasks(site->engine, err) || kgrade_tasks_json(site->engine, &text, err))
        return -1;
    json_auto_t *list = json_loads(text, 0, NULL);
    json_decref(site->tasks);
    site->tasks = json_incref(json_object_get(list, "tasks"));
    return 0;
}

/* Why it cannot even be tried; false: nothing speaks against it. */
static bool is_hopeless(struct site *site, const struct regrade_problem *problem,
                        struct regrade_carried *ret)
{
    if (site->no_jails) {
        cannot(ret, "sandbox_unavailable",
               "Its problem is Python that must be run once to be made a task of, and this "
               "machine cannot give a full jail.");
        return true;
    }
    if (!needs_gpu(problem) || (!strcmp(device_for(site, problem), GPU) && has_gpu(site)))
        return false;
    cannot(ret, "needs_cuda",
           "Its problem makes inputs on a card of NVIDIA's; none works here, or --device "
           "names another device.");
    return true;
}

/* From problem.json to task.json, and into the engine, unless that was done ahead. */
static int describe(struct site *site, const char *tasks, const struct regrade_problem *problem,
                    struct regrade_carried *ret, kgrade_error *why, kgrade_error *err)
{
    const json_t *known = json_object_get(site->described, problem->name);
    cleanup_free char *folder = regrade_path(tasks, problem->name);
    cleanup_free char *json = folder ? regrade_path(folder, "task.json") : NULL;
    if (!json)
        return fail(err, "out_of_memory", NULL, "There is no memory for a task.");
    if (is_hopeless(site, problem, ret))
        return 0;
    if (known)
        return cannot(ret, json_string_value(json_object_get(known, "code")),
                      json_string_value(json_object_get(known, "message")));
    fputs("Running the problem ", stderr);
    text_print_inline(stderr, problem->name);
    fputs(" to make a task of it.\n", stderr);
    int failed = kgrade_describe_task(site->engine, folder, device_for(site, problem),
                                      progress_report, NULL, why);
    /* A terminal sends its signal to the jail's processes, too. */
    if (progress_signal())
        return fail(err, "interrupted", NULL, "The reading was stopped.");
    if (failed)
        return cannot(ret, why->code, why->message);
    if (!reload(site, why))
        return 0;
    /* With it no engine would open any more. */
    unlink(json);
    return cannot(ret, why->code, why->message);
}

int problems_note(struct site *site, const struct regrade_problem *problem, kgrade_error *err)
{
    bool changed;
    struct regrade_carried unused;
    cleanup_free char *tasks = problems_folder(site->folder);
    if (json_object_get(site->problems, problem->name) ||
        json_object_get(site->ahead, problem->name))
        return 0;
    if (!tasks)
        return fail(err, "out_of_memory", NULL, "There is no memory for a task.");
    if (regrade_problem_write(tasks, problem, &changed, err))
        return -1;
    bool runs = (changed || !is_task(site, problem->name)) && !is_hopeless(site, problem, &unused);
    return json_object_set_new(site->ahead, problem->name,
                               runs ? json_string(device_for(site, problem)) : json_null())
               ? fail(err, "out_of_memory", NULL, "There is no memory for a task.")
               : 0;
}

int problems_take_in(struct site *site, kgrade_error *err)
{
    cleanup_free char *tasks = problems_folder(site->folder);
    const char *name;
    void *next;
    json_t *told;
    if (!tasks)
        return fail(err, "out_of_memory", NULL, "There is no memory for a task.");
    if (!reload(site, NULL))
        return 0;
    /* One of them is in the way of the others: each for itself, then, as it is read. */
    json_object_foreach_safe(site->described, next, name, told)
    {
        cleanup_free char *folder = regrade_path(tasks, name);
        cleanup_free char *json = folder ? regrade_path(folder, "task.json") : NULL;
        if (json_object_size(told))
            continue;
        if (!json)
            return fail(err, "out_of_memory", NULL, "There is no memory for a task.");
        unlink(json);
        json_object_del(site->described, name);
    }
    return 0;
}

static int make_task(struct site *site, const struct regrade_problem *problem,
                     struct regrade_carried *ret, kgrade_error *why, kgrade_error *err)
{
    bool changed;
    cleanup_free char *tasks = problems_folder(site->folder);
    if (!tasks)
        return fail(err, "out_of_memory", NULL, "There is no memory for a task.");
    if (regrade_problem_write(tasks, problem, &changed, err))
        return -1;
    if (!site->engine && !is_task(site, problem->name))
        return cannot(ret, "task_not_on_server",
                      "Its problem is a folder in tasks/ now; the server needs it, described by "
                      "kgrade describe-task, among its tasks.");
    if (site->engine && (changed || !is_task(site, problem->name)))
        return describe(site, tasks, problem, ret, why, err);
    return 0;
}

/* {"task", "device", "origin", "code", "message"}: what is known of a problem by now. */
static int remember(struct site *site, const struct regrade_problem *problem,
                    const struct regrade_carried *carried, kgrade_error *err)
{
    bool is_made = !carried->skip_code;
    json_t *known =
        json_pack("{s:s?, s:s?, s:s, s:s?, s:s?}", "task", is_made ? problem->name : NULL, "device",
                  is_made ? device_for(site, problem) : NULL, "origin", problem->origin, "code",
                  carried->skip_code, "message", carried->skip_message);
    if (json_object_set_new(site->problems, problem->name, known))
        return fail(err, "out_of_memory", NULL, "There is no memory for a task.");
    return 0;
}

int problems_carry(struct site *site, const struct regrade_problem *problem,
                   struct regrade_carried *ret, kgrade_error *err)
{
    kgrade_error why = {0};
    struct regrade_carried carried = {0};
    if (progress_signal())
        return fail(err, "interrupted", NULL, "The reading was stopped.");
    if (!json_object_get(site->problems, problem->name) &&
        (make_task(site, problem, &carried, &why, err) || remember(site, problem, &carried, err)))
        return -1;
    const json_t *known = json_object_get(site->problems, problem->name);
    if (strcmp(json_string_value(json_object_get(known, "origin")), problem->origin) != 0)
        return cannot(ret, "problem_name_taken",
                      "Another problem of the same name was read before.");
    *ret = (struct regrade_carried){
        .task = json_string_value(json_object_get(known, "task")),
        .device = json_string_value(json_object_get(known, "device")),
        .skip_code = json_string_value(json_object_get(known, "code")),
        .skip_message = json_string_value(json_object_get(known, "message")),
    };
    return 0;
}

/* --- Their files -------------------------------------------------------------------------------- */

/* Takes in those of the problem's files that what is there imports, and what those import. */
static void add_imported(const char *folder, const json_t *names, json_t *files)
{
    bool more = true;
    while (more) {
        more = false;
        for (size_t i = 0; i < json_array_size(names); i++) {
            const char *name = json_string_value(json_array_get(names, i)), *other;
            json_t *text;
            bool wanted = false;
            json_object_foreach(files, other, text)
            {
                wanted = wanted || (name && regrade_imports(json_string_value(text), name));
            }
            cleanup_free char *path = wanted ? regrade_path(folder, name) : NULL;
            cleanup_bytes struct bytes content = {0};
            if (!path || json_object_get(files, name) ||
                io_read_file(path, REGRADE_MAX_PROBLEM_BYTES, &content, NULL))
                continue;
            more = !json_object_set_new(files, name,
                                        json_stringn((const char *)content.data, content.size)) ||
                   more;
        }
    }
}

static char *bundle_of(const json_t *files)
{
    kgrade_file list[REGRADE_MAX_PROBLEM_FILES + 1];
    size_t n = 0;
    const char *name;
    char *source = NULL;
    json_t *text;
    json_object_foreach((json_t *)files, name, text)
    {
        if (n < sizeof list / sizeof list[0])
            list[n++] = (kgrade_file){name, json_string_value(text), json_string_length(text)};
    }
    return n > 1 && !kgrade_bundle(list, n, &source, NULL) ? source : NULL;
}

char *problems_add_files(const struct site *site, struct regrade_entry *entry)
{
    if (entry->skip_code || !entry->task || !entry->language ||
        strcmp(entry->language, "python") != 0)
        return NULL;
    cleanup_free char *tasks = problems_folder(site->folder);
    cleanup_free char *folder = tasks ? regrade_path(tasks, entry->task) : NULL;
    cleanup_free char *path = folder ? regrade_path(folder, "problem.json") : NULL;
    cleanup_bytes struct bytes content = {0};
    if (!path || io_read_file(path, REGRADE_MAX_PROBLEM_BYTES, &content, NULL))
        return NULL;
    json_auto_t *problem = json_loadb((const char *)content.data, content.size, 0, NULL);
    json_auto_t *files = json_object();
    json_object_set_new(files, MAIN_FILE, json_stringn(entry->source, entry->source_size));
    if (!json_object_size(files)) /* it is no text, which is told elsewhere */
        return NULL;
    add_imported(folder, json_object_get(problem, "files"), files);
    char *source = bundle_of(files);
    if (!source)
        return NULL;
    entry->source = source;
    entry->source_size = strlen(source);
    if (!entry->note)
        entry->note = "The problem's files that it imports go with it.";
    return source;
}
