#define _GNU_SOURCE
#include "build.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../grade/jails.h"
#include "../profile/ranges_text.h"
#include "flags.h"

#define DEFAULT_BUILD_TIMEOUT_S 60.0
#define SOURCE_FOLDER "/src/" /* in the build jail */

static uint64_t build_ns(const kgrade *engine)
{
    double seconds = engine->options.build_timeout_s > 0 ? engine->options.build_timeout_s
                                                         : DEFAULT_BUILD_TIMEOUT_S;
    return (uint64_t)(seconds * (double)IO_NS_PER_S);
}

static int blame_source(const struct jail_status *status, double seconds, struct finding *finding)
{
    if (status->out_of_memory)
        return finding_set(finding, KGRADE_BUILD_FAILED, "build_out_of_memory",
                           "Reduce template depth, unrolling and generated code.",
                           "The compiler took more than %llu MiB of memory.",
                           (unsigned long long)(status->peak_bytes >> 20));
    if (status->end == JAIL_DEADLINE)
        return finding_set(finding, KGRADE_BUILD_FAILED, "build_timeout",
                           "Reduce template depth, unrolling and generated code.",
                           "The compiler did not finish within %.0f seconds.", seconds);
    if (status->end == JAIL_SIGNALLED && status->code == SIGXFSZ)
        return finding_set(finding, KGRADE_BUILD_FAILED, "build_too_large",
                           "Make less code and fewer diagnostics.",
                           "The compiler wrote more than it may.");
    if (status->end != JAIL_EXITED)
        return finding_set(finding, KGRADE_BUILD_FAILED, "compiler_killed",
                           "The source probably needs more memory to compile than the limit "
                           "allows; make it smaller.",
                           "The compiler was killed by signal %d.", status->code);
    return finding_set(finding, KGRADE_BUILD_FAILED, "compile_failed",
                       "The log has the compiler's messages.", "The candidate does not compile.");
}

/* Source and command line: what a build is a function of, as long as the toolchain stays. */
static void make_key(const char *const *argv, const void *source, size_t size, char ret[HASH_HEX])
{
    struct hash_part parts[DEVICE_MAX_COMPILE_ARGS + 1] = {{source, size}};
    size_t n = 1;
    for (size_t i = 0; argv[i] && n < sizeof parts / sizeof parts[0]; i++)
        parts[n++] = (struct hash_part){argv[i], strlen(argv[i])};
    hash_parts(parts, n, ret);
}

static bool copy_bytes(const struct bytes *from, struct bytes *ret)
{
    ret->data = malloc(from->size + 1);
    if (!ret->data)
        return false;
    memcpy(ret->data, from->data, from->size);
    ret->size = from->size;
    return true;
}

static bool recall(kgrade *engine, const char *key, struct bytes *ret)
{
    bool found = false;
    pthread_mutex_lock(&engine->cache_lock);
    for (size_t i = 0; i < engine->n_builds && !found; i++) {
        struct build *b = &engine->builds[i];
        if (strcmp(b->key, key))
            continue;
        found = copy_bytes(&b->library, ret);
        b->used = ++engine->build_uses;
    }
    pthread_mutex_unlock(&engine->cache_lock);
    return found;
}

static void keep(kgrade *engine, const char *key, const struct bytes *library)
{
    struct bytes copy = {0};
    if (library->size > ENGINE_MAX_BUILD_BYTES || !copy_bytes(library, &copy))
        return;
    pthread_mutex_lock(&engine->cache_lock);
    struct build *place = &engine->builds[engine->n_builds];
    if (engine->n_builds == ENGINE_MAX_BUILDS) {
        place = &engine->builds[0];
        for (size_t i = 1; i < ENGINE_MAX_BUILDS; i++)
            if (engine->builds[i].used < place->used)
                place = &engine->builds[i];
        bytes_free(&place->library);
    } else {
        engine->n_builds++;
    }
    memcpy(place->key, key, HASH_HEX);
    place->library = copy;
    place->used = ++engine->build_uses;
    pthread_mutex_unlock(&engine->cache_lock);
}

/* A command line, and where what it points to is. */
struct command_line {
    const char *argv[DEVICE_MAX_COMPILE_ARGS];
    size_t n;
    struct flags flags;
    char paths[BUNDLE_MAX_FILES][sizeof SOURCE_FOLDER + BUNDLE_MAX_NAME];
};

static int append(struct command_line *line, const char *argument, kgrade_error *err)
{
    if (line->n + 1 == DEVICE_MAX_COMPILE_ARGS)
        return fail(err, "flag_not_allowed", "Put several files into one.",
                    "The compiler's command line would have more than %d arguments.",
                    DEVICE_MAX_COMPILE_ARGS - 1);
    line->argv[line->n++] = argument;
    line->argv[line->n] = NULL;
    return 0;
}

static bool names_source(const struct device_language *language, const char *argument)
{
    return !strncmp(argument, SOURCE_FOLDER, strlen(SOURCE_FOLDER)) &&
           !strcmp(argument + strlen(SOURCE_FOLDER), language->source_name);
}

static int append_sources(const struct device_language *language, const struct bundle *bundle,
                          struct command_line *line, kgrade_error *err)
{
    for (size_t i = 0; i < line->flags.n; i++)
        if (append(line, line->flags.list[i], err))
            return -1;
    for (size_t i = 0; i < bundle->n; i++) {
        if (!bundle_is_source(language, &bundle->files[i]))
            continue;
        snprintf(line->paths[i], sizeof line->paths[0], SOURCE_FOLDER "%s", bundle->files[i].name);
        if (append(line, line->paths[i], err))
            return -1;
    }
    return 0;
}

/* The device's command line; in the place of the one source that it names stand the candidate's flags and sources. */
static int write_command(const struct device *device, const struct device_language *language,
                         const char *target, const struct bundle *bundle, struct command_line *ret,
                         kgrade_error *err)
{
    const char *argv[DEVICE_MAX_COMPILE_ARGS];
    ret->n = 0;
    if (device->compile(language, target, argv, err) ||
        flags_read(language, bundle, &ret->flags, err))
        return -1;
    for (size_t i = 0; argv[i]; i++)
        if (names_source(language, argv[i]) ? append_sources(language, bundle, ret, err)
                                            : append(ret, argv[i], err))
            return -1;
    return 0;
}

/* The candidate's files, and kgrade_ranges.h unless it brings its own.  How many. */
static size_t gather_files(const struct bundle *bundle,
                           struct bundle_file ret[BUNDLE_MAX_FILES + 1])
{
    bool has_own = false;
    for (size_t i = 0; i < bundle->n; i++) {
        ret[i] = bundle->files[i];
        has_own = has_own || !strcmp(ret[i].name, RANGES_FILE);
    }
    ret[bundle->n] = (struct bundle_file){RANGES_FILE, ranges_text, strlen(ranges_text)};
    return bundle->n + !has_own;
}

static int blame_command(const kgrade_error *err, struct finding *finding)
{
    if (strcmp(err->code, "flag_not_allowed"))
        return finding_infrastructure(finding, err);
    return finding_set(finding, KGRADE_BUILD_FAILED, err->code, err->hint, "%s", err->message);
}

/* There is nothing to compile. */
static int copy_source(const char *source, size_t size, struct bytes *ret, struct finding *finding)
{
    ret->data = malloc(size + 1);
    if (!ret->data)
        return finding_set(finding, KGRADE_INFRASTRUCTURE_ERROR, "out_of_memory", NULL,
                           "No memory for the source.");
    memcpy(ret->data, source, size);
    ret->size = size;
    return 0;
}

int build_candidate(kgrade *engine, const struct device *device,
                    const struct device_language *language, const char *target, const char *source,
                    size_t size, struct bytes *ret, bool *ret_cached, struct finding *finding)
{
    kgrade_error err = {.code = ""};
    struct command_line line;
    char key[HASH_HEX];
    cleanup_bundle struct bundle bundle = {.json = NULL};
    if (language->interpreted) {
        *ret_cached = false;
        return copy_source(source, size, ret, finding);
    }
    if (bundle_open(language, source, size, &bundle, &err) ||
        write_command(device, language, target, &bundle, &line, &err))
        return blame_command(&err, finding);
    make_key(line.argv, source, size, key);
    *ret_cached = recall(engine, key, ret);
    if (*ret_cached)
        return 0;
    struct bundle_file files[BUNDLE_MAX_FILES + 1];
    const struct build_input input = {device, line.argv, files, gather_files(&bundle, files)};
    struct jail_status status;
    int result = jails_build(engine, &input, build_ns(engine), ret, &status, &finding->log, &err);
    if (result < 0)
        return finding_infrastructure(finding, &err);
    if (result > 0)
        return blame_source(&status, (double)build_ns(engine) / (double)IO_NS_PER_S, finding);
    finding_free(finding); /* warnings are not worth a reader's time */
    keep(engine, key, ret);
    return 0;
}

/* --- references --- */

/* The reference runs on the machine that it is compiled on, so it may use all of that machine's instructions. */
static const char *const reference_argv[] = {
    "/usr/bin/cc", "-std=gnu17", "-O3", "-march=native",     "-fno-math-errno",  "-fPIC",
    "-shared",     "-Wl,-z,now", "-o",  "/out/candidate.so", "/src/reference.c", "-lm",
    NULL};

/* What to compile: the file in the task's folder, by which compiler. */
struct recipe {
    const struct device *device; /* NULL: none */
    const char *const *argv;
    const char *source_name;
};

static int compile_reference(kgrade *engine, const struct task *task, const struct recipe *recipe,
                             const struct bytes *source, struct bytes *ret, struct finding *finding)
{
    kgrade_error err = {.code = ""};
    const struct bundle_file file = {recipe->source_name, (const char *)source->data, source->size};
    const struct build_input input = {recipe->device, recipe->argv, &file, 1};
    struct jail_status status;
    int result = jails_build(engine, &input, build_ns(engine), ret, &status, &finding->log, &err);
    if (result < 0)
        return finding_infrastructure(finding, &err);
    if (result == 0) {
        finding_free(finding);
        return 0;
    }
    char hint[128];
    snprintf(hint, sizeof hint, "Mend %.40s; `kgrade check-task` shows the compiler's messages.",
             recipe->source_name);
    finding_set(finding, KGRADE_INFRASTRUCTURE_ERROR, "reference_failed", hint,
                "The reference of task \"%s\" does not compile (%s).", task->name,
                recipe->source_name);
    finding->retryable = false;
    return -1;
}

static struct reference *find_reference(kgrade *engine, const char *key)
{
    for (size_t i = 0; i < engine->n_references; i++)
        if (!strcmp(engine->references[i].key, key))
            return &engine->references[i];
    return NULL;
}

static int make_reference(kgrade *engine, const struct task *task, const struct recipe *recipe,
                          const char *key, const struct bytes *source, struct reference **ret,
                          struct finding *finding)
{
    if (engine->n_references == ENGINE_MAX_REFERENCES)
        return finding_set(finding, KGRADE_INFRASTRUCTURE_ERROR, "too_many_tasks", NULL,
                           "The engine holds %d references already.", ENGINE_MAX_REFERENCES);
    struct reference *r = &engine->references[engine->n_references];
    if (compile_reference(engine, task, recipe, source, &r->library, finding))
        return -1;
    memcpy(r->key, key, HASH_HEX);
    engine->n_references++;
    *ret = r;
    return 0;
}

/* From the engine's memory, or compiled; the task has the file. */
static int get_reference(kgrade *engine, const struct task *task, const struct recipe *recipe,
                         struct reference **ret, struct finding *finding)
{
    char key[HASH_HEX];
    const struct bytes *source = task_file(task, recipe->source_name);
    make_key(recipe->argv, source->data, source->size, key);
    pthread_mutex_lock(&engine->cache_lock);
    *ret = find_reference(engine, key);
    int result = *ret ? 0 : make_reference(engine, task, recipe, key, source, ret, finding);
    pthread_mutex_unlock(&engine->cache_lock);
    return result;
}

int build_reference(kgrade *engine, const struct task *task, const struct bytes **ret,
                    struct finding *finding)
{
    static const struct recipe recipe = {NULL, reference_argv, "reference.c"};
    struct reference *reference = NULL;
    if (get_reference(engine, task, &recipe, &reference, finding))
        return -1;
    *ret = &reference->library;
    return 0;
}

int build_device_reference(kgrade *engine, const struct device *device, const char *target,
                           const struct task *task, struct reference **ret, struct finding *finding)
{
    kgrade_error err = {.code = ""};
    const char *argv[DEVICE_MAX_COMPILE_ARGS];
    *ret = NULL;
    if (!device->reference || !task_file(task, device->reference))
        return 0;
    if (device->compile_reference(target, argv, &err))
        return finding_infrastructure(finding, &err);
    const struct recipe recipe = {device, argv, device->reference};
    return get_reference(engine, task, &recipe, ret, finding);
}

bool build_reference_is_checked(kgrade *engine, const struct reference *reference)
{
    pthread_mutex_lock(&engine->cache_lock);
    bool checked = reference->checked;
    pthread_mutex_unlock(&engine->cache_lock);
    return checked;
}

void build_reference_set_checked(kgrade *engine, struct reference *reference)
{
    pthread_mutex_lock(&engine->cache_lock);
    reference->checked = true;
    pthread_mutex_unlock(&engine->cache_lock);
}
