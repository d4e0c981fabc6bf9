/*
 * What the tests of engines share: an installation of the test's own, in which programs can be replaced, with a task that
 * takes no time, and OpenCL's device, which can be made to look like another.
 */
#ifndef ENGINE_HELP_H
#define ENGINE_HELP_H

#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "grader/grade/grade.h"
#include "grader/grade/slot.h"
#include "grader/grade/workers.h"
#include "sandbox/base/io.h"

#define SKIPPED 77
#define TASK "vector_add"
#define PATIENCE_NS (60 * IO_NS_PER_S)

static char folder[64];

static inline void copy_program(const char *from, const char *name)
{
    char path[256];
    struct bytes data = {0};
    assert_int_equal(io_read_file(from, 1u << 30, &data, NULL), 0);
    snprintf(path, sizeof path, "%s/libexec/kgrade/%s", folder, name);
    assert_int_equal(io_write_file(path, data.data, data.size, NULL), 0);
    assert_int_equal(chmod(path, 0755), 0);
    bytes_free(&data);
}

static inline void install(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/libexec/kgrade/%s", KGRADE_BUILD_DIR, name);
    copy_program(path, name);
}

/* Vector addition with cases that take no time. */
static inline void make_task(void)
{
    static const char *const parts[] = {"statement.md", "reference.c", "baseline.opencl.c"};
    char path[256], original[4096];
    snprintf(path, sizeof path, "%s/tasks/" TASK, folder);
    assert_int_equal(io_make_dirs(path, NULL), 0);
    json_t *task = json_load_file(KGRADE_SOURCE_DIR "/tasks/" TASK "/task.json", 0, NULL);
    assert_int_equal(json_object_set_new(task, "cases",
                                         json_pack("{s:[{s:i}, {s:i}], s:[{s:i}]}", "correctness",
                                                   "n", 1000, "n", 31, "benchmark", "n", 65536)),
                     0);
    snprintf(path, sizeof path, "%s/tasks/" TASK "/task.json", folder);
    assert_int_equal(json_dump_file(task, path, 0), 0);
    json_decref(task);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        snprintf(original, sizeof original, "%s/tasks/" TASK "/%s", KGRADE_SOURCE_DIR, parts[i]);
        snprintf(path, sizeof path, "%s/tasks/" TASK "/%s", folder, parts[i]);
        assert_int_equal(symlink(original, path), 0);
    }
}

static inline int set_up(void **state)
{
    (void)state;
    static const char *const programs[] = {"kgrade-spawner", "kgrade-record-opencl",
                                           "kgrade-replay-opencl", "kgrade-judge-opencl"};
    char path[128];
    strcpy(folder, "/tmp/test-health.XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libexec/kgrade", folder);
    assert_int_equal(io_make_dirs(path, NULL), 0);
    assert_int_equal(chmod(path, 0755), 0);
    *strrchr(path, '/') = 0;
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
        install(programs[i]);
    make_task();
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    return io_remove_tree(folder, NULL);
}

/* folder, tasks, and limits for a test are added to the options. */
static inline kgrade *open_engine_with(kgrade_options options)
{
    char tasks[128];
    snprintf(tasks, sizeof tasks, "%s/tasks", folder);
    options.prefix = folder;
    options.tasks = tasks;
    options.allow_reduced = true;
    options.max_samples = 20;
    options.max_seconds = 0.2;
    kgrade *engine = NULL;
    kgrade_error err = {.code = ""};
    if (kgrade_open(&options, &engine, &err))
        fail_msg("%s: %s", err.code, err.message);
    return engine;
}

/* OpenCL's, as if faults stayed on it, or workers were started ahead. */
static inline struct device opencl_as(bool sticky, bool ahead)
{
    struct device device = *device_find("opencl");
    device.fault_is_sticky = sticky;
    device.start_ahead = ahead;
    return device;
}

static inline void put_device(kgrade *engine, const struct device *device)
{
    for (size_t i = 0; i < engine->n_slots; i++) {
        struct device_slot *slot = &engine->slots[i];
        if (strcmp(slot->device->name, "opencl") != 0)
            continue;
        pthread_mutex_lock(&slot->spares.lock); /* a thread of its own starts workers */
        slot->device = device;
        pthread_mutex_unlock(&slot->spares.lock);
    }
}

static inline char *honest_source(const char *more)
{
    struct bytes source = {0};
    assert_int_equal(io_read_file(KGRADE_SOURCE_DIR "/tasks/" TASK "/baseline.opencl.c", 1u << 20,
                                  &source, NULL),
                     0);
    char *text = malloc(source.size + strlen(more) + 1);
    memcpy(text, source.data, source.size);
    strcpy(text + source.size, more);
    bytes_free(&source);
    return text;
}

/* The result, on a device that need not be registered; NULL: there is none. */
static inline json_t *grade_text(kgrade *engine, const struct device *device, const char *language,
                                 const char *source, kgrade_progress progress, void *data,
                                 kgrade_error *err)
{
    const kgrade_request request = {.language = language,
                                    .source = source,
                                    .source_size = strlen(source),
                                    .id = "0123456789abcdef0123456789abcdef"};
    kgrade_result *result = NULL;
    if (grade_source(engine, task_set_find(engine->tasks, TASK), device,
                     device_language_find(device, language), &request, progress, data, &result,
                     err))
        return NULL;
    json_t *json = json_loads(kgrade_result_json(result), 0, NULL);
    kgrade_result_free(result);
    return json;
}

/* The honest source with more at its end. */
static inline json_t *grade_on(kgrade *engine, const struct device *device, const char *more)
{
    char *source = honest_source(more);
    kgrade_error err = {.code = ""};
    json_t *json = grade_text(engine, device, device->languages[0].name, source, NULL, NULL, &err);
    free(source);
    if (!json)
        fail_msg("%s: %s", err.code, err.message);
    assert_string_equal(json_string_value(json_object_get(json, "id")),
                        "0123456789abcdef0123456789abcdef");
    return json;
}

static inline void assert_is_right(json_t *json)
{
    const char *verdict = json_string_value(json_object_get(json, "verdict"));
    /* A busy machine is not what is tested here. */
    if (strcmp(verdict, "accepted") && strcmp(verdict, "unresolved") && strcmp(verdict, "suspect"))
        fail_msg("%s: %s", verdict,
                 json_string_value(json_object_get(json_object_get(json, "reason"), "message")));
    json_decref(json);
}

static inline void assert_right(kgrade *engine, const struct device *device)
{
    assert_is_right(grade_on(engine, device, ""));
}

/* Returns whether the compiler ran. */
static inline bool assert_fails(kgrade *engine, const struct device *device, const char *more,
                                const char *verdict, const char *code)
{
    json_t *json = grade_on(engine, device, more);
    const json_t *reason = json_object_get(json, "reason");
    assert_string_equal(json_string_value(json_object_get(json, "verdict")), verdict);
    if (code)
        assert_string_equal(json_string_value(json_object_get(reason, "code")), code);
    if (!strcmp(verdict, "infrastructure_error"))
        assert_true(json_is_true(json_object_get(reason, "retryable")));
    bool built = json_number_value(json_object_get(json_object_get(json, "steps"), "build_ms")) > 0;
    json_decref(json);
    return built;
}

#endif
