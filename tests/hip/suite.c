/*
 * Drives the whole HIP device with the test double in the place of AMD's library:
 *
 *   hip_suite candidates [NAME...]   what must come of each candidate in candidates/
 *   hip_suite faults [NAME...]       what must come of an honest one with each library that has a fault, and of it afterwards
 *                                    with one that has none
 *   hip_suite                        both
 *
 * The first line of a candidate is what must come of it: "// VERDICT [CODE] [TASK]".  Nothing here says anything about speed,
 * or about what an AMD card does.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kgrade/kgrade.h>

#include "sandbox/base/cleanup.h"
#include "sandbox/base/io.h"

#define SKIPPED 77
#define CANDIDATES KGRADE_SOURCE_DIR "/tests/hip/candidates"
#define HEADER CANDIDATES "/plain.h"
#define HONEST "add"
#define MAX_CANDIDATES 128
#define MAX_BYTES (1u << 20)
#define BUSY_RETRIES 5
/* For a step that must not end by itself; the others have the time that a busy machine may need. */
#define HANG_SECONDS 5
#define STEP_SECONDS 100

/* The tasks, with cases that take no time. */
static const struct {
    const char *name, *cases, *baseline;
} tasks[] = {
    {"vector_add",
     "{\"correctness\": [{\"n\": 1}, {\"n\": 1000}], \"benchmark\": [{\"n\": 8192}],"
     " \"hidden\": [{\"count\": 1, \"n\": [100, 2000]}]}",
     "add_four"},
    {"softmax",
     "{\"correctness\": [{\"rows\": 7, \"cols\": 33}], \"benchmark\": [{\"rows\": 16, \"cols\": "
     "64}]}",
     "softmax"},
};

/* Libraries by the name of their folder: what must come of a candidate. */
static const struct library {
    const char *name, *verdict, *code;
    const char *words; /* that the reason or the environment must have */
    bool hangs;
    const char *candidate; /* NULL: HONEST */
} libraries[] = {
    {"plain", "accepted", "", "test double", false, NULL},
    {"version_5", "accepted", "", "5.2.3", false, NULL},
    {"not_mapped", "accepted", "", "7.0.0", false, NULL},
    {"not_mapped", "accepted", "", "moved in pointer arguments", false, "table"},
    {"not_mapped", "refused", "pointer_in_struct", "", false, "in_struct"},
    {"mapped_elsewhere", "accepted", "", "7.0.0", false, NULL},
    {"warned_of", "accepted", "", "clr#279", false, NULL},
    {"known_bad", "infrastructure_error", "runtime_known_bad", "clr#279", false, NULL},
    {"incomplete", "infrastructure_error", "runtime_incomplete",
     "hipEventElapsedTime, hipGraphLaunch", false, NULL},
    {"no_device", "infrastructure_error", "device_failed", "HIP sees no device", false, NULL},
    {"loses_work", "infrastructure_error", "runtime_wrong_graph", "has captured 0", false, NULL},
    {"loses_argument", "infrastructure_error", "runtime_wrong_graph", "something else than it was",
     false, NULL},
    /* What only shows in answers: the baseline's are looked at first. */
    {"loses_argument_late", "infrastructure_error", "baseline_failed", "vector_add", false, NULL},
    {"spoils", "infrastructure_error", "baseline_failed", "vector_add", false, NULL},
    {"is_lost", "infrastructure_error", "device_failed", "", false, NULL},
    {"hangs", "infrastructure_error", "baseline_failed", "", true, NULL},
};
#define N_LIBRARIES (sizeof libraries / sizeof libraries[0])

static char work[] = "/tmp/kgrade-hip-XXXXXX";
static int failures;

__attribute__((noreturn)) static void die(const char *what)
{
    perror(what);
    exit(1);
}

__attribute__((format(printf, 2, 3))) static void path_of(char ret[4096], const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(ret, 4096, format, ap);
    va_end(ap);
}

/* A candidate behind its header. */
static void read_candidate(const char *name, struct bytes *ret)
{
    char path[4096];
    struct bytes header = {0}, own = {0};
    path_of(path, CANDIDATES "/%s.hip", name);
    if (io_read_file(HEADER, MAX_BYTES, &header, NULL) || io_read_file(path, MAX_BYTES, &own, NULL))
        die(path);
    ret->data = malloc(header.size + own.size);
    if (!ret->data)
        die("malloc");
    memcpy(ret->data, header.data, header.size);
    memcpy(ret->data + header.size, own.data, own.size);
    ret->size = header.size + own.size;
    bytes_free(&header);
    bytes_free(&own);
}

static void copy_part(const char *task, const char *part)
{
    char from[4096], to[4096];
    cleanup_bytes struct bytes data = {0};
    path_of(from, KGRADE_SOURCE_DIR "/tasks/%s/%s", task, part);
    path_of(to, "%s/tasks/%s/%s", work, task, part);
    if (io_read_file(from, MAX_BYTES, &data, NULL) || io_write_file(to, data.data, data.size, NULL))
        die(from);
}

static void make_task(const char *name, const char *cases, const char *baseline)
{
    char path[4096];
    cleanup_bytes struct bytes source = {0};
    path_of(path, "%s/tasks/%s", work, name);
    if (io_make_dirs(path, NULL))
        die(path);
    copy_part(name, "reference.c");
    copy_part(name, "statement.md");
    path_of(path, KGRADE_SOURCE_DIR "/tasks/%s/task.json", name);
    json_auto_t *task = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    json_object_set_new(task, "cases", json_loads(cases, 0, NULL));
    json_object_set_new(task, "devices", json_pack("[s]", "hip"));
    json_object_set_new(task, "workspace_bytes", json_integer(16 << 20));
    path_of(path, "%s/tasks/%s/task.json", work, name);
    if (json_dump_file(task, path, JSON_INDENT(2)))
        die(path);
    read_candidate(baseline, &source);
    path_of(path, "%s/tasks/%s/baseline.hip.hip", work, name);
    if (io_write_file(path, source.data, source.size, NULL))
        die(path);
}

static kgrade *open_engine(bool hangs)
{
    char folder[4096], cache[4096];
    path_of(folder, "%s/tasks", work);
    path_of(cache, "%s/cache", work);
    const double seconds = hangs ? HANG_SECONDS : STEP_SECONDS;
    const kgrade_options options = {.prefix = KGRADE_BUILD_DIR,
                                    .tasks = folder,
                                    .cache = cache,
                                    .allow_reduced = true,
                                    .precision = 0.05,
                                    .max_samples = 20,
                                    .max_seconds = 0.5,
                                    .build_timeout_s = STEP_SECONDS,
                                    .record_timeout_s = seconds,
                                    .replay_timeout_s = seconds};
    kgrade *engine = NULL;
    kgrade_error err = {.code = ""};
    if (kgrade_open(&options, &engine, &err)) {
        printf("%s: %s\n", err.code, err.message);
        exit(1);
    }
    return engine;
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

static json_t *grade_once(kgrade *engine, const char *name, const char *task)
{
    cleanup_bytes struct bytes source = {0};
    kgrade_error err = {.code = ""};
    kgrade_result *result = NULL;
    read_candidate(name, &source);
    const kgrade_request request = {.task = task,
                                    .device = "hip",
                                    .source = (const char *)source.data,
                                    .source_size = source.size};
    if (kgrade_grade(engine, &request, NULL, NULL, &result, &err))
        return json_pack("{s:s, s:{s:s, s:s}}", "verdict", "not_taken", "reason", "code", err.code,
                         "message", err.message);
    json_t *json = json_loads(kgrade_result_json(result), 0, NULL);
    kgrade_result_free(result);
    return json;
}

/* What comes of a grade on a machine that is held up: samples that do not agree, two clocks that do not, a step that ends too late.
 * A clock that is forged can be lost in the same noise. */
static bool may_be_the_machine(const json_t *result)
{
    static const char *const verdicts[] = {"unresolved", "suspect", "timeout", "accepted"};
    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++)
        if (!strcmp(text(result, "verdict"), verdicts[i]))
            return true;
    return false;
}

/* Once more where it was not what it must be and may be the machine's doing: what is wrong stays wrong. */
static json_t *grade(kgrade *engine, const char *name, const char *task, const char *verdict)
{
    json_t *result = grade_once(engine, name, task);
    for (int i = 0; i < BUSY_RETRIES && strcmp(text(result, "verdict"), verdict) != 0 &&
                    may_be_the_machine(result);
         i++) {
        json_decref(result);
        result = grade_once(engine, name, task);
    }
    return result;
}

/* Prints a line, and the whole result where it is not what it must be. */
static void check(const char *name, json_t *result, const char *verdict, const char *code,
                  const char *words)
{
    const json_t *reason = json_object_get(result, "reason");
    cleanup_free char *all = json_dumps(result, JSON_INDENT(2));
    bool good = !strcmp(text(result, "verdict"), verdict) &&
                (!*code || !strcmp(text(reason, "code"), code)) && all && strstr(all, words);
    /* A double must never pass for hardware. */
    if (!strcmp(verdict, "accepted"))
        good = good && all && strstr(all, "test double") && strstr(all, "libamdhip64");
    printf("%-7s %-22s %s %s\n", good ? "ok" : "FAILED", name, text(result, "verdict"),
           text(reason, "code"));
    if (!good) {
        printf("        expected %s %s%s%s\n%s\n", verdict, code, *words ? ", with " : "", words,
               all ? all : "");
        failures++;
    }
    fflush(stdout);
    json_decref(result);
}

/* Before any engine: the device looks once for its library. */
static void use_library(const char *name)
{
    char path[4096];
    path_of(path, KGRADE_HIP_DOUBLES "/%s/libamdhip64.so.7", name);
    if (setenv("KGRADE_HIP_RUNTIME", path, 1))
        die("setenv");
}

/* --- candidates --- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t list_candidates(char *ret[MAX_CANDIDATES])
{
    cleanup_dir DIR *folder = opendir(CANDIDATES);
    size_t n = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder)) && n < MAX_CANDIDATES;) {
        char *dot = strrchr(entry->d_name, '.');
        if (dot && !strcmp(dot, ".hip"))
            ret[n++] = strndup(entry->d_name, (size_t)(dot - entry->d_name));
    }
    qsort((void *)ret, n, sizeof *ret, by_name);
    return n;
}

static void check_candidate(kgrade *engine, const char *name)
{
    char path[4096], line[256], verdict[32] = "", code[48] = "", task[48] = "";
    path_of(path, CANDIDATES "/%s.hip", name);
    cleanup_file FILE *file = fopen(path, "re");
    if (!file || !fgets(line, sizeof line, file))
        die(path);
    sscanf(line, "// %31s %47s %47s", verdict, code, task);
    if (!strcmp(code, "-"))
        code[0] = '\0';
    check(name, grade(engine, name, *task ? task : "vector_add", verdict), verdict, code, "");
    /* A fault must not be the next one's. */
    if (!strcmp(verdict, "runtime_error") || !strcmp(verdict, "timeout"))
        check("  then " HONEST, grade(engine, HONEST, "vector_add", "accepted"), "accepted", "",
              "");
}

static bool is_wanted(const char *name, char **names)
{
    for (char **wanted = names; *wanted; wanted++)
        if (!strcmp(*wanted, name))
            return true;
    return !*names;
}

/* Hanging ones wait for a limit, and have an engine with a short one. */
static void check_candidates(char **names)
{
    char *all[MAX_CANDIDATES];
    size_t n = list_candidates(all);
    use_library("plain");
    for (int hangs = 0; hangs < 2; hangs++) {
        kgrade *engine = open_engine(hangs);
        for (size_t i = 0; i < n; i++)
            if (is_wanted(all[i], names) && (strncmp(all[i], "hangs", 5) == 0) == (hangs == 1))
                check_candidate(engine, all[i]);
        kgrade_close(engine);
    }
    for (size_t i = 0; i < n; i++)
        free(all[i]);
}

/* --- faults --- */

static void check_library(const struct library *library)
{
    use_library(library->name);
    kgrade *engine = open_engine(library->hangs);
    const char *candidate = library->candidate ? library->candidate : HONEST;
    check(library->name, grade(engine, candidate, "vector_add", library->verdict), library->verdict,
          library->code, library->words);
    kgrade_close(engine);
}

/* In a process of its own. */
static void check_apart(const struct library *library)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        failures = 0; /* its own */
        check_library(library);
        fflush(stdout);
        _exit(failures ? 1 : 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        die("fork");
    if (status)
        failures++;
}

static void check_faults(char **names)
{
    for (size_t i = 0; i < N_LIBRARIES; i++)
        if (is_wanted(libraries[i].name, names))
            check_apart(&libraries[i]);
    check_apart(&libraries[0]); /* none of them has left anything behind */
}

int main(int argc, char **argv)
{
    static char *none[] = {NULL};
    char **names = argc > 2 ? argv + 2 : none;
    const char *what = argc > 1 ? argv[1] : "";
    if (!mkdtemp(work))
        die(work);
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++)
        make_task(tasks[i].name, tasks[i].cases, tasks[i].baseline);
    if (strcmp(what, "candidates"))
        check_faults(names);
    if (strcmp(what, "faults"))
        check_candidates(names);
    io_remove_tree(work, NULL);
    printf("%d failed\n", failures);
    return failures ? 1 : 0;
}
