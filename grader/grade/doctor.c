/* What this machine can do, and how to mend what it cannot. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../sandbox/base/fail.h"
#include "../replay/replay.h"
#include "pythons.h"

static void add(json_t *checks, const char *name, bool ok, bool required, const char *detail,
                const char *fix)
{
    json_t *check = json_pack("{s:s, s:b, s:b, s:s}", "name", name, "ok", ok, "required", required,
                              "detail", detail);
    if (!ok)
        json_object_set_new(check, "fix", json_string(fix));
    json_array_append_new(checks, check);
}

static void check_sandbox(json_t *checks, enum sandbox_level *ret_level)
{
    struct sandbox_probe probes[SANDBOX_MAX_PROBES];
    size_t n = sandbox_probe_all(probes, ret_level);
    for (size_t i = 0; i < n; i++) {
        char name[64];
        snprintf(name, sizeof name, "sandbox: %s", probes[i].name);
        add(checks, name, probes[i].works, probes[i].required, probes[i].detail, probes[i].fix);
    }
}

static void check_clock(json_t *checks)
{
    struct timespec resolution;
    char detail[96];
    bool ok = clock_getres(CLOCK_MONOTONIC, &resolution) == 0 && resolution.tv_sec == 0 &&
              resolution.tv_nsec <= 1000;
    snprintf(detail, sizeof detail, "CLOCK_MONOTONIC ticks every %ld ns", resolution.tv_nsec);
    add(checks, "clock", ok, true, detail, "Boot a kernel with high-resolution timers.");
}

static bool check_compiler(json_t *checks, const struct device *device)
{
    for (const struct device_language *l = device->languages; l->name; l++) {
        if (l->interpreted)
            continue;
        const char *argv[DEVICE_MAX_COMPILE_ARGS];
        kgrade_error err = {.code = ""};
        char name[64];
        snprintf(name, sizeof name, "compiler: %s for %s", l->name, device->name);
        bool ok = !device->compile(l, "", argv, &err) && access(argv[0], X_OK) == 0;
        add(checks, name, ok, false, ok ? argv[0] : err.message, err.hint);
        if (!ok)
            return false;
    }
    return true;
}

static void check_pythons(kgrade *engine, json_t *checks)
{
    for (size_t i = 0; engine && i < engine->pythons.n; i++) {
        struct python *python = &engine->pythons.items[i];
        kgrade_error err = {.code = ""};
        char name[64], detail[1200];
        snprintf(name, sizeof name, "python: %s", python->name);
        const json_t *about = pythons_ask(engine, python, &err);
        if (!about) {
            add(checks, name, false, false, err.message, err.hint);
            continue;
        }
        int n = snprintf(detail, sizeof detail, "%s, Python %s", python->path,
                         json_string_value(json_object_get(about, "version")));
        const char *framework;
        json_t *version;
        json_object_foreach(json_object_get(about, "frameworks"), framework, version)
        {
            if (n < (int)sizeof detail)
                n += snprintf(detail + n, sizeof detail - (size_t)n, ", %s %s", framework,
                              json_string_value(version));
        }
        add(checks, name, true, false, detail, "");
    }
}

/* A device works when its replayer opens in its jail. */
static bool check_device(kgrade *engine, json_t *checks, const struct device *device,
                         const char *problem)
{
    struct finding f = {.log = NULL};
    cleanup_replay struct replay replay = REPLAY_NONE;
    char name[64];
    snprintf(name, sizeof name, "device: %s", device->name);
    cleanup_task_set struct task_set *tasks = engine ? engine_tasks(engine) : NULL;
    if (!tasks || tasks->n == 0) {
        add(checks, name, false, false, problem, "Mend the lines above first.");
        return false;
    }
    if (replay_open(engine, device, tasks->tasks[0], NULL, 0, &replay, &f)) {
        add(checks, name, false, false, f.reason.message, f.reason.hint);
        finding_free(&f);
        return false;
    }
    char detail[1024];
    const char *hardware = json_string_value(json_object_get(replay.info, "hardware"));
    const char *driver = json_string_value(json_object_get(replay.info, "driver"));
    int n = snprintf(detail, sizeof detail, "%.200s, driver %.60s", hardware ? hardware : "?",
                     driver ? driver : "?");
    /* Where the runtime is a file of its own, which one it is, and what is known to be wrong with it. */
    const json_t *runtime = json_object_get(replay.info, "runtime");
    const char *library = json_string_value(json_object_get(runtime, "library"));
    const char *version = json_string_value(json_object_get(runtime, "version"));
    const char *warning = json_string_value(json_object_get(replay.info, "runtime_warning"));
    if (library && version)
        n += snprintf(detail + n, sizeof detail - (size_t)n, ", %.60s, %.300s %.30s",
                      replay_target(&replay), library, version);
    if (warning)
        snprintf(detail + n, sizeof detail - (size_t)n, "; %.250s", warning);
    add(checks, name, true, false, detail, "");
    return true;
}

int kgrade_doctor(const kgrade_options *options, char **ret_json, kgrade_error *err)
{
    static const kgrade_options none;
    kgrade_options lenient = options ? *options : none;
    kgrade_error problem = {.code = ""};
    kgrade *engine = NULL;
    enum sandbox_level level = SANDBOX_REDUCED;
    json_t *checks = json_array();
    check_sandbox(checks, &level);
    check_clock(checks);
    lenient.allow_reduced = true;
    bool opened = kgrade_open(&lenient, &engine, &problem) == 0;
    char detail[1100];
    if (opened)
        snprintf(detail, sizeof detail, "%zu tasks in %.900s", engine->tasks->n,
                 engine->tasks_folder);
    else
        snprintf(detail, sizeof detail, "%s", problem.message);
    add(checks, "engine", opened, true, detail, problem.hint);
    size_t working = 0;
    for (size_t i = 0; device_registry[i]; i++) {
        bool compiles = check_compiler(checks, device_registry[i]);
        bool works = check_device(engine, checks, device_registry[i], problem.message);
        working += compiles && works;
    }
    check_pythons(engine, checks);
    kgrade_close(engine);
    bool ready =
        opened && working > 0 && (level == SANDBOX_FULL || (options && options->allow_reduced));
    json_t *json =
        json_pack("{s:b, s:s, s:s, s:o}", "ready", ready, "isolation", sandbox_level_name(level),
                  "version", kgrade_version(), "checks", checks);
    *ret_json = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
    json_decref(json);
    return *ret_json ? 0
                     : fail(err, "out_of_memory", NULL, "The report could not be written as JSON.");
}
