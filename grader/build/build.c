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

#define DEFAULT_BUILD_TIMEOUT_S 60.0
#define MAX_REFERENCE_BYTES (1u << 20)

static uint64_t build_ns(const kgrade *engine)
{
    double seconds = engine->options.build_timeout_s > 0 ? engine->options.build_timeout_s
                                                         : DEFAULT_BUILD_TIMEOUT_S;
    return (uint64_t)(seconds * (double)IO_NS_PER_S);
}

static int blame_source(const struct jail_status *status, double seconds, struct finding *finding)
{
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

int build_candidate(kgrade *engine, const struct device *device,
                    const struct device_language *language, const char *target, const char *source,
                    size_t size, struct bytes *ret, struct finding *finding)
{
    kgrade_error err = {.code = ""};
    const char *argv[DEVICE_MAX_COMPILE_ARGS];
    if (device->compile(language, target, argv, &err))
        return finding_infrastructure(finding, &err);
    const struct build_input input = {device, argv, language->source_name, source, size};
    struct jail_status status;
    int result = jails_build(engine, &input, build_ns(engine), ret, &status, &finding->log, &err);
    if (result < 0)
        return finding_infrastructure(finding, &err);
    if (result == 0) {
        finding_free(finding); /* warnings are not worth a reader's time */
        return 0;
    }
    return blame_source(&status, (double)build_ns(engine) / (double)IO_NS_PER_S, finding);
}

/* --- references --- */

/* The reference runs on the machine that it is compiled on, so it may use all of that machine's instructions. */
static const char *const reference_argv[] = {
    "/usr/bin/cc", "-std=gnu17", "-O3", "-march=native",     "-fno-math-errno",  "-fPIC",
    "-shared",     "-Wl,-z,now", "-o",  "/out/candidate.so", "/src/reference.c", "-lm",
    NULL};

static int compile_reference(kgrade *engine, const struct task *task, const struct bytes *source,
                             struct bytes *ret, struct finding *finding)
{
    kgrade_error err = {.code = ""};
    const struct build_input input = {NULL, reference_argv, "reference.c", source->data,
                                      source->size};
    struct jail_status status;
    int result = jails_build(engine, &input, build_ns(engine), ret, &status, &finding->log, &err);
    if (result < 0)
        return finding_infrastructure(finding, &err);
    if (result == 0) {
        finding_free(finding);
        return 0;
    }
    finding_set(finding, KGRADE_INFRASTRUCTURE_ERROR, "reference_failed",
                "Mend reference.c; `kgrade check-task` shows the compiler's messages.",
                "The reference of task \"%s\" does not compile.", task->name);
    finding->retryable = false;
    return -1;
}

static const struct bytes *find_reference(const kgrade *engine, const char *key)
{
    for (size_t i = 0; i < engine->n_references; i++)
        if (!strcmp(engine->references[i].key, key))
            return &engine->references[i].library;
    return NULL;
}

static int make_reference(kgrade *engine, const struct task *task, const char *key,
                          const struct bytes *source, const struct bytes **ret,
                          struct finding *finding)
{
    if (engine->n_references == ENGINE_MAX_TASKS)
        return finding_set(finding, KGRADE_INFRASTRUCTURE_ERROR, "too_many_tasks", NULL,
                           "The engine holds %d references already.", ENGINE_MAX_TASKS);
    struct reference *r = &engine->references[engine->n_references];
    if (compile_reference(engine, task, source, &r->library, finding))
        return -1;
    memcpy(r->key, key, HASH_HEX);
    engine->n_references++;
    *ret = &r->library;
    return 0;
}

int build_reference(kgrade *engine, const struct task *task, const struct bytes **ret,
                    struct finding *finding)
{
    kgrade_error err = {.code = ""};
    char path[ENGINE_MAX_PATH], key[HASH_HEX];
    cleanup_bytes struct bytes source = {0};
    snprintf(path, sizeof path, "%s/reference.c", task->folder);
    if (io_read_file(path, MAX_REFERENCE_BYTES, &source, &err))
        return finding_infrastructure(finding, &err);
    hash_hex(source.data, source.size, key);
    pthread_mutex_lock(&engine->cache_lock);
    *ret = find_reference(engine, key);
    int result = *ret ? 0 : make_reference(engine, task, key, &source, ret, finding);
    pthread_mutex_unlock(&engine->cache_lock);
    return result;
}
