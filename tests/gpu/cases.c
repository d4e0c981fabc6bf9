/*
 * Grades the candidates in tests/gpu/cases and compares verdict and reason with their expect.json:
 *
 *   gpu_cases [NAME...]             all of them without names
 *   gpu_cases --python [NAME...]    the candidates in tests/gpu/python, by the interpreter $KGRADE_PYTHON
 *   gpu_cases --hip [NAME...]       the candidates in tests/gpu/hip
 *
 * After every case that ends in a fault or a hang, or asks for it ("then_honest"), an honest candidate must still be accepted.  Prints a table; its last line
 * sums up.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "card.h"
#include "grader/kgrade.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/io.h"

#define HONEST "honest" /* among those in CUDA */
#define MAX_CASES 256
#define MAX_EXPECT_BYTES 65536u

/* Where the cases are, and what they are written in. */
struct suite {
    const char *option; /* that chooses it; NULL: it is the one without */
    const char *folder, *tasks, *file, *language;
};

static const struct suite in_cuda = {NULL, KGRADE_SOURCE_DIR "/tests/gpu/cases",
                                     KGRADE_SOURCE_DIR "/tests/gpu/tasks", "candidate.cu", "cuda"};
static const struct suite in_python = {"--python", KGRADE_SOURCE_DIR "/tests/gpu/python",
                                       KGRADE_SOURCE_DIR "/tasks", "candidate.py", "python"};
static const struct suite in_hip = {"--hip", KGRADE_SOURCE_DIR "/tests/gpu/hip",
                                    KGRADE_SOURCE_DIR "/tasks", "candidate.hip", "hip"};

static const struct suite *choose_suite(const char *option)
{
    static const struct suite *const others[] = {&in_python, &in_hip};
    for (size_t i = 0; option && i < sizeof others / sizeof others[0]; i++)
        if (!strcmp(option, others[i]->option))
            return others[i];
    return &in_cuda;
}

struct run {
    const struct suite *suite;
    kgrade *engine;
    int total, failed;
};

static json_t *read_expectation(const struct suite *suite, const char *name)
{
    char path[512];
    json_error_t error;
    snprintf(path, sizeof path, "%s/%.200s/expect.json", suite->folder, name);
    json_t *json = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!json) {
        printf("%s: line %d: %s\n", path, error.line, error.text);
        exit(1);
    }
    return json;
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

/* The result as JSON; NULL when there is none. */
static json_t *grade(struct run *run, const char *name, const char *task)
{
    char path[512];
    cleanup_bytes struct bytes source = {0};
    kgrade_error err = {.code = ""};
    kgrade_result *result = NULL;
    snprintf(path, sizeof path, "%s/%.200s/%s", run->suite->folder, name, run->suite->file);
    if (io_read_file(path, KGRADE_MAX_SOURCE_BYTES, &source, &err)) {
        printf("%s\n", err.message);
        return NULL;
    }
    const kgrade_request request = {.task = task,
                                    .device = "cuda",
                                    .language = run->suite->language,
                                    .source = (const char *)source.data,
                                    .source_size = source.size};
    if (kgrade_grade(run->engine, &request, NULL, NULL, &result, &err)) {
        printf("%s: %s: %s\n", name, err.code, err.message);
        return NULL;
    }
    json_t *json = json_loads(kgrade_result_json(result), 0, NULL);
    kgrade_result_free(result);
    return json;
}

static bool code_is_right(const json_t *expected, const char *code)
{
    const json_t *codes = json_object_get(expected, "codes");
    const char *only = text(expected, "code");
    if (*only)
        return !strcmp(only, code);
    for (size_t i = 0; i < json_array_size(codes); i++)
        if (!strcmp(json_string_value(json_array_get(codes, i)), code))
            return true;
    return json_array_size(codes) == 0;
}

static void report(struct run *run, const char *name, const json_t *expected, const json_t *got,
                   uint64_t ns)
{
    const json_t *reason = json_object_get(got, "reason");
    const char *verdict = text(got, "verdict"), *code = text(reason, "code");
    bool right = !strcmp(verdict, text(expected, "verdict")) && code_is_right(expected, code);
    double score = json_number_value(json_object_get(got, "score"));
    run->total++;
    run->failed += !right;
    printf("%-6s %-22s %-14s %-22s %7.3f %6.1f s\n", right ? "ok" : "FAILED", name, verdict, code,
           score, (double)ns / (double)IO_NS_PER_S);
    if (!right)
        printf("       expected %s %s; %s %s\n", text(expected, "verdict"), text(expected, "code"),
               text(reason, "message"), text(reason, "log"));
    fflush(stdout);
}

static void one(struct run *run, const char *name, const char *shown)
{
    json_auto_t *expected = read_expectation(run->suite, name);
    uint64_t start = io_now();
    json_auto_t *got = grade(run, name, text(expected, "task"));
    report(run, shown, expected, got, io_now() - start);
}

static void case_and_after(struct run *run, const char *name)
{
    json_auto_t *expected = read_expectation(run->suite, name);
    const char *verdict = text(expected, "verdict");
    one(run, name, name);
    if (run->suite != &in_cuda)
        return;
    if (!strcmp(verdict, "runtime_error") || !strcmp(verdict, "timeout") ||
        json_is_true(json_object_get(expected, "then_honest")))
        one(run, HONEST, "  honest, afterwards");
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t find_cases(const struct suite *suite, char *names[MAX_CASES])
{
    cleanup_dir DIR *folder = opendir(suite->folder);
    size_t n = 0;
    for (struct dirent *entry; folder && n < MAX_CASES && (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            names[n++] = strdup(entry->d_name);
    qsort(names, n, sizeof *names, by_name);
    return n;
}

int main(int argc, char **argv)
{
    struct run run = {.suite = choose_suite(argv[1])};
    bool python = run.suite == &in_python;
    kgrade_error err = {.code = ""};
    kgrade_options options = {.prefix = KGRADE_BUILD_DIR,
                              .tasks = run.suite->tasks,
                              .python = python ? getenv("KGRADE_PYTHON") : NULL,
                              .allow_reduced = true,
                              .keep_spares = true,
                              .record_timeout_s = python ? 0 : 5,
                              .precision = 0.05,
                              .max_samples = 40,
                              .max_seconds = 1};
    if (!have_card())
        return SKIPPED;
    if (python && !options.python) {
        printf("skipped: KGRADE_PYTHON names no interpreter\n");
        return SKIPPED;
    }
    if (getenv("KGRADE_FULL"))
        options.allow_reduced = false;
    if (getenv("KGRADE_REDUCED"))
        options.force_reduced = true;
    if (kgrade_open(&options, &run.engine, &err)) {
        printf("%s: %s %s\n", err.code, err.message, err.hint);
        return 1;
    }
    char *found[MAX_CASES];
    int first = 1 + (run.suite->option != NULL);
    size_t n = argc > first ? 0 : find_cases(run.suite, found);
    for (int i = first; i < argc; i++)
        case_and_after(&run, argv[i]);
    for (size_t i = 0; i < n; i++) {
        case_and_after(&run, found[i]);
        free(found[i]);
    }
    kgrade_close(run.engine);
    printf("cases: %d of %d as expected\n", run.total - run.failed, run.total);
    return run.failed || run.total == 0;
}
