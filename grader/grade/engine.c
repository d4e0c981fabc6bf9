#define _GNU_SOURCE
#include "engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "slot.h"
#include "workers.h"

#define SCRATCH_PREFIX "kgrade."

const char *kgrade_version(void)
{
    return KGRADE_VERSION;
}

static bool has_programs(const char *prefix)
{
    char path[ENGINE_MAX_PATH];
    snprintf(path, sizeof path, "%.3000s/libexec/kgrade/kgrade-spawner", prefix);
    return access(path, X_OK) == 0;
}

void engine_find_prefix(const kgrade_options *options, char ret[ENGINE_MAX_PATH])
{
    if (options && options->prefix) {
        snprintf(ret, ENGINE_MAX_PATH, "%s", options->prefix);
        return;
    }
    ssize_t n = readlink("/proc/self/exe", ret, ENGINE_MAX_PATH - 1);
    if (n > 0) {
        ret[n] = 0;
        for (int up = 0; up < 2; up++) {
            char *slash = strrchr(ret, '/');
            if (slash)
                *slash = 0;
        }
        if (has_programs(ret))
            return;
    }
    snprintf(ret, ENGINE_MAX_PATH, "%s", KGRADE_INSTALL_PREFIX);
}

void engine_program(const kgrade *engine, const char *name, char ret[ENGINE_MAX_PATH])
{
    snprintf(ret, ENGINE_MAX_PATH, "%.3000s/libexec/kgrade/%s", engine->prefix, name);
}

struct task_set *engine_tasks(kgrade *engine)
{
    pthread_mutex_lock(&engine->tasks_lock);
    struct task_set *tasks = task_set_ref(engine->tasks);
    pthread_mutex_unlock(&engine->tasks_lock);
    return tasks;
}

static int load_tasks(const kgrade *engine, struct task_set **ret, kgrade_error *err)
{
    const char *more = engine->more_tasks_folder;
    return task_set_load(engine->tasks_folder, *more ? more : NULL, ret, err);
}

int kgrade_reload_tasks(kgrade *engine, kgrade_error *err)
{
    struct task_set *tasks;
    if (load_tasks(engine, &tasks, err))
        return -1;
    pthread_mutex_lock(&engine->tasks_lock);
    struct task_set *before = engine->tasks;
    engine->tasks = tasks;
    pthread_mutex_unlock(&engine->tasks_lock);
    task_set_unref(before);
    return 0;
}

struct device_slot *engine_slot(kgrade *engine, const struct device *device)
{
    for (size_t i = 0; i < engine->n_slots; i++)
        if (engine->slots[i].device == device)
            return &engine->slots[i];
    return NULL;
}

static const char *temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && folder[0] == '/' ? folder : "/tmp";
}

static void lock_path(const char *folder, char ret[ENGINE_MAX_PATH])
{
    snprintf(ret, ENGINE_MAX_PATH, "%.3500s/lock", folder);
}

/* An engine that was killed could not tidy up.  The lock of a live one is held; what can be locked is left over. */
static void sweep_folder(const char *folder)
{
    char path[ENGINE_MAX_PATH];
    struct stat st;
    if (lstat(folder, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
        return;
    lock_path(folder, path);
    cleanup_close int lock = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
        io_remove_tree(folder, NULL);
}

static void sweep_left_overs(void)
{
    cleanup_dir DIR *dir = opendir(temporary_folder());
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        char path[ENGINE_MAX_PATH];
        if (strncmp(e->d_name, SCRATCH_PREFIX, strlen(SCRATCH_PREFIX)))
            continue;
        snprintf(path, sizeof path, "%.3000s/%.255s", temporary_folder(), e->d_name);
        sweep_folder(path);
    }
}

static int make_scratch(kgrade *engine, kgrade_error *err)
{
    char path[ENGINE_MAX_PATH];
    snprintf(engine->scratch_folder, sizeof engine->scratch_folder,
             "%.3000s/" SCRATCH_PREFIX "XXXXXX", temporary_folder());
    if (!mkdtemp(engine->scratch_folder)) {
        engine->scratch_folder[0] = 0;
        return fail_errno(err, "file_unwritable", "Set TMPDIR to a folder that can be written.",
                          "A temporary folder could not be made");
    }
    lock_path(engine->scratch_folder, path);
    engine->scratch_lock = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (engine->scratch_lock < 0 || flock(engine->scratch_lock, LOCK_EX | LOCK_NB))
        return fail_errno(err, "file_unwritable", NULL, "The temporary folder could not be locked");
    /* Jails at the reduced level reach what is bound by its own path: the folder can be passed, not listed. */
    if (chmod(engine->scratch_folder, 0711))
        return fail_errno(err, "file_unwritable", NULL,
                          "The temporary folder could not be opened to jails");
    return 0;
}

static int make_folders(kgrade *engine, const kgrade_options *options, kgrade_error *err)
{
    sweep_left_overs();
    if (make_scratch(engine, err))
        return -1;
    snprintf(engine->cache_folder, sizeof engine->cache_folder, "%s",
             options->cache ? options->cache : engine->scratch_folder);
    return io_make_dirs(engine->cache_folder, err);
}

static int start_sandbox(kgrade *engine, kgrade_error *err)
{
    struct sandbox_probe probes[SANDBOX_MAX_PROBES];
    enum sandbox_level level = SANDBOX_REDUCED;
    size_t n = sandbox_probe_all(probes, &level);
    if (level == SANDBOX_REDUCED && !engine->options.allow_reduced &&
        !engine->options.force_reduced) {
        const struct sandbox_probe *missing = NULL;
        for (size_t i = 0; i < n && !missing; i++)
            if (probes[i].required && !probes[i].works)
                missing = &probes[i];
        return fail(err, "sandbox_unavailable",
                    "Run `kgrade doctor` for all that is missing; --isolation reduced accepts a "
                    "weaker sandbox, and "
                    "every result will say so.",
                    "This machine cannot isolate candidates fully: %s does not work (%s).",
                    missing ? missing->name : "a mechanism",
                    missing ? missing->detail : "see kgrade doctor");
    }
    char spawner[ENGINE_MAX_PATH];
    engine_program(engine, "kgrade-spawner", spawner);
    const struct sandbox_options options = {spawner, engine->options.force_reduced ? SANDBOX_REDUCED
                                                                                   : level};
    return sandbox_start(&options, &engine->sandbox, err);
}

static int check_options(const kgrade_options *options, kgrade_error *err)
{
    if (options->python_spares <= KGRADE_MAX_PYTHON_SPARES)
        return 0;
    return fail(err, "bad_options", "Each takes the memory of an interpreter and a GPU context.",
                "At most %u recorders can be kept started for each interpreter, not %u.",
                KGRADE_MAX_PYTHON_SPARES, options->python_spares);
}

static int make_spares(kgrade *engine, kgrade_error *err)
{
    for (size_t i = 0; i < engine->n_slots; i++)
        if (spares_open(engine, &engine->slots[i], err))
            return -1;
    return 0;
}

int kgrade_open(const kgrade_options *options, kgrade **ret, kgrade_error *err)
{
    static const kgrade_options none;
    if (!options)
        options = &none;
    kgrade *engine = calloc(1, sizeof *engine);
    if (!engine)
        return fail(err, "out_of_memory", NULL, "No memory for an engine.");
    engine->scratch_lock = -1;
    engine->options = *options;
    engine->options.prefix = engine->options.tasks = engine->options.cache = NULL;
    engine->options.python = engine->options.more_tasks = NULL;
    pthread_mutex_init(&engine->tasks_lock, NULL);
    pthread_mutex_init(&engine->pythons_lock, NULL);
    pthread_mutex_init(&engine->cache_lock, NULL);
    for (size_t i = 0; i < ENGINE_MAX_DEVICES && device_registry[i]; i++) {
        slot_init(&engine->slots[i], device_registry[i]);
        engine->n_slots++;
    }
    engine_find_prefix(options, engine->prefix);
    if (options->tasks)
        snprintf(engine->tasks_folder, sizeof engine->tasks_folder, "%s", options->tasks);
    else
        snprintf(engine->tasks_folder, sizeof engine->tasks_folder, "%.3000s/share/kgrade/tasks",
                 engine->prefix);
    if (options->more_tasks)
        snprintf(engine->more_tasks_folder, sizeof engine->more_tasks_folder, "%s",
                 options->more_tasks);
    json_object_seed(0); /* before any thread, as jansson asks */
    if (check_options(options, err) || python_list_parse(options->python, &engine->pythons, err) ||
        make_spares(engine, err) || make_folders(engine, options, err) ||
        load_tasks(engine, &engine->tasks, err) || start_sandbox(engine, err)) {
        kgrade_close(engine);
        return -1;
    }
    *ret = engine;
    return 0;
}

void kgrade_close(kgrade *engine)
{
    if (!engine)
        return;
    for (size_t i = 0; i < engine->n_slots; i++) {
        spares_close(&engine->slots[i]);
        graves_wait(&engine->slots[i].graves);
    }
    sandbox_stop(engine->sandbox);
    task_set_unref(engine->tasks);
    for (size_t i = 0; i < engine->n_baselines; i++) {
        bytes_free(&engine->baselines[i].recording);
        bytes_free(&engine->baselines[i].code);
    }
    for (size_t i = 0; i < engine->n_builds; i++)
        bytes_free(&engine->builds[i].library);
    for (size_t i = 0; i < engine->n_references; i++)
        bytes_free(&engine->references[i].library);
    for (size_t i = 0; i < engine->n_slots; i++)
        slot_destroy(&engine->slots[i]);
    python_list_clear(&engine->pythons);
    pthread_mutex_destroy(&engine->pythons_lock);
    pthread_mutex_destroy(&engine->cache_lock);
    pthread_mutex_destroy(&engine->tasks_lock);
    if (engine->scratch_folder[0])
        io_remove_tree(engine->scratch_folder, NULL);
    if (engine->scratch_lock >= 0)
        close(engine->scratch_lock);
    free(engine);
}
