/*
 * Grades hostile candidates and checks what comes of it.
 *
 *     run_case FOLDER...        grades each with one engine: 0 all as expected, 1 not, 77 nothing could be run
 *     run_case --print FOLDER   prints the source that is graded
 *
 * For each folder: the verdict and reason of expect.json; a message, a hint and a log that an author can
 * use; no secret and no path of the machine in the result; nothing left behind.  Every few cases and at the
 * end an honest candidate must still be accepted by the same engine.
 */
#define _GNU_SOURCE
#include <kgrade/kgrade.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/io.h"
#include "candidate.h"
#include "small_tasks.h"
#include "world.h"

#define SKIPPED 77
#define MAX_LOG_BYTES (64u << 10)
#define MAX_RESULT_BYTES (1u << 20)
#define QUIET_SECONDS 5
#define HONEST_EVERY 5 /* cases; a grade takes seconds */
#define INDENT "       "

/* Short limits: the point is that they hold, not how long they are. */
static const kgrade_options limits = {.prefix = KGRADE_BUILD_DIR,
                                      .cache = KGRADE_BUILD_DIR "/tests/hostile/cache",
                                      .allow_reduced = true,
                                      .precision = 0.05,
                                      .max_samples = 24,
                                      .max_seconds = 0.2,
                                      .build_timeout_s = 6,
                                      .record_timeout_s = 5,
                                      .replay_timeout_s = 6};

struct run {
    kgrade *engine;
    struct bait bait;
    char folder[64];    /* where the engine keeps its files */
    char tasks[128];    /* the folder of tasks */
    char suite[4096];   /* tests/hostile */
    struct world quiet; /* after the first grade */
    bool full;          /* isolation */
    int failures;       /* of the current case */
};

__attribute__((format(printf, 2, 3))) static void complain(struct run *run, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    fputs(INDENT, stdout);
    vprintf(format, ap);
    putchar('\n');
    va_end(ap);
    run->failures++;
}

/* Whether `value` is the string `single` or in the array `many`; true when neither is there. */
static bool is_one_of(const char *value, const json_t *single, const json_t *many)
{
    if (!single && !many)
        return true;
    if (single && value && !strcmp(value, json_string_value(single)))
        return true;
    for (size_t i = 0; i < json_array_size(many); i++)
        if (value && !strcmp(value, json_string_value(json_array_get(many, i))))
            return true;
    return false;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* The source is the caller's to free. */
static kgrade_result *grade_folder(struct run *run, const char *folder, const char *task,
                                   char **ret_source, kgrade_error *error)
{
    *ret_source = candidate_source(folder, run->tasks, &run->bait);
    if (!*ret_source)
        exit(1);
    const kgrade_request request = {.task = task,
                                    .device = "opencl",
                                    .language = "c",
                                    .source = *ret_source,
                                    .source_size = strlen(*ret_source)};
    kgrade_result *result = NULL;
    return kgrade_grade(run->engine, &request, NULL, NULL, &result, error) ? NULL : result;
}

/* Right, but timed while the machine was busy with something else: that is the machine's doing. */
static bool only_noisy(const kgrade_result *result)
{
    json_auto_t *json = json_loads(kgrade_result_json(result), 0, NULL);
    return kgrade_result_verdict(result) == KGRADE_UNRESOLVED &&
           !strcmp(text_of(json_object_get(json, "reason"), "code"), "too_noisy");
}

static bool grade_honest(struct run *run)
{
    char folder[4200];
    kgrade_error error;
    snprintf(folder, sizeof folder, "%s/honest/honest", run->suite);
    cleanup_free char *source = NULL;
    kgrade_result *result = grade_folder(run, folder, "vector_add", &source, &error);
    if (!result) {
        printf(INDENT "the honest candidate: %s: %s\n", error.code, error.message);
        return false;
    }
    bool accepted = kgrade_result_verdict(result) == KGRADE_ACCEPTED || only_noisy(result);
    json_auto_t *json = json_loads(kgrade_result_json(result), 0, NULL);
    cleanup_free char *compact = accepted ? NULL : json_dumps(json, JSON_COMPACT);
    if (compact)
        printf(INDENT "the honest candidate: %s\n", compact);
    run->full = !strcmp(text_of(json_object_get(json, "environment"), "isolation"), "full");
    kgrade_result_free(result);
    return accepted;
}

/* A reason that an author can act upon. */
static void check_reason(struct run *run, const json_t *expect, const char *verdict,
                         const json_t *reason)
{
    const char *code = text_of(reason, "code"), *message = text_of(reason, "message");
    const char *hint = text_of(reason, "hint"), *log = text_of(reason, "log");
    if (!strcmp(verdict, text_of(expect, "verdict")) &&
        !is_one_of(code, json_object_get(expect, "code"), json_object_get(expect, "codes")))
        complain(run, "the reason is \"%s\"", code);
    if (json_object_get(expect, "forbidden_codes") &&
        is_one_of(code, NULL, json_object_get(expect, "forbidden_codes")))
        complain(run, "the reason is \"%s\": the attack has succeeded", code);
    if (strcmp(verdict, "accepted") && (!*message || !*code))
        complain(run, "there is no message or no code");
    bool advice = !strcmp(verdict, "refused") || !strcmp(verdict, "build_failed") ||
                  !strcmp(verdict, "timeout") || !strcmp(verdict, "wrong_answer");
    if (advice && !*hint)
        complain(run, "there is no hint");
    if (json_is_true(json_object_get(expect, "log")) && !*log)
        complain(run, "there is no log");
    if (strlen(log) > MAX_LOG_BYTES)
        complain(run, "the log has %zu bytes", strlen(log));
    const json_t *words = json_object_get(expect, "says");
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *w = json_string_value(json_array_get(words, i));
        if (!strcmp(verdict, text_of(expect, "verdict")) && !strstr(message, w) &&
            !strstr(hint, w) && !strstr(log, w))
            complain(run, "neither message nor hint nor log mentions \"%s\"", w);
    }
}

/* Nothing of the machine's but what the author has written himself, and nothing that is not his to
 * know. */
static void check_leaks(struct run *run, const json_t *expect, const char *source, const char *text)
{
    char here[4096];
    const char *const never[] = {run->bait.secret,  run->bait.secret_file,
                                 run->folder,       KGRADE_BUILD_DIR,
                                 KGRADE_SOURCE_DIR, getcwd(here, sizeof here)};
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
        if (never[i] && strlen(never[i]) > 1 && strstr(text, never[i]) && !strstr(source, never[i]))
            complain(run, "the result contains \"%s\"", never[i]);
    if (strstr(text, run->bait.secret))
        complain(run, "the result contains the secret");
    const json_t *words = json_object_get(expect, "absent");
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *w = json_string_value(json_array_get(words, i));
        if (strstr(text, w))
            complain(run, "the result contains \"%s\"", w);
    }
    if (bait_taken(&run->bait))
        complain(run, "somebody has connected to a socket of the machine");
    if (strlen(text) > MAX_RESULT_BYTES)
        complain(run, "the result has %zu bytes", strlen(text));
}

static void check_result(struct run *run, const json_t *expect, const char *source,
                         const kgrade_result *result)
{
    const char *text = kgrade_result_json(result);
    json_auto_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (!json) {
        complain(run, "the result is not JSON");
        return;
    }
    const char *verdict = text_of(json, "verdict");
    const json_t *reason = json_object_get(json, "reason");
    double score = json_number_value(json_object_get(json, "score"));
    printf(INDENT "%s %s score %.3g: %s %s\n", verdict, text_of(reason, "code"), score,
           text_of(reason, "message"), text_of(reason, "hint"));
    const json_t *single = json_object_get(expect, "verdict"),
                 *more = json_object_get(expect, "verdicts");
    if (!is_one_of(verdict, single, more) &&
        !(is_one_of("accepted", single, more) && only_noisy(result)))
        complain(run, "the verdict is \"%s\", not \"%s\"", verdict, text_of(expect, "verdict"));
    if (strcmp(verdict, kgrade_verdict_name(kgrade_result_verdict(result))))
        complain(run, "the JSON and kgrade_result_verdict differ");
    check_reason(run, expect, verdict, reason);
    check_leaks(run, expect, source, text);
    if (strcmp(verdict, "accepted") ? score != 0 : score <= 0)
        complain(run, "a score of %g does not go with the verdict", score);
    const json_t *limit = json_object_get(expect, "max_score");
    if (limit && score > json_number_value(limit))
        complain(run, "the score of %g is better than an honest one could be", score);
    cleanup_free char *compact = run->failures ? json_dumps(json, JSON_COMPACT) : NULL;
    if (compact)
        printf(INDENT "%s\n", compact);
}

static const char *why_not_here(const struct run *run, const json_t *expect)
{
    struct utsname machine;
    const char *wanted = json_string_value(json_object_get(expect, "machine"));
    if (wanted && !uname(&machine) && strcmp(machine.machine, wanted))
        return "it is written for another processor";
    if (json_object_get(expect, "isolation") && !run->full)
        return "this machine gives no full isolation";
    return NULL;
}

#define ALL_KINDS (WORLD_PROCESSES | WORLD_FILES | WORLD_MOUNTS | WORLD_DESCRIPTORS)

/* 0 as expected, 1 not, SKIPPED. */
static int run_case(struct run *run, const char *folder)
{
    json_auto_t *expect = candidate_expectation(folder);
    cleanup_free char *copy = strdup(folder);
    const char *name = copy ? basename(copy) : folder;
    const char *reason = expect ? why_not_here(run, expect) : NULL;
    if (!expect)
        return 1;
    run->failures = 0;
    if (reason) {
        printf("skip   %s: %s\n", name, reason);
        return SKIPPED;
    }
    kgrade_error error;
    const char *after = json_string_value(json_object_get(expect, "after"));
    if (after) {
        char first[4200];
        snprintf(first, sizeof first, "%s/%s", run->suite, after);
        cleanup_free char *planting = NULL;
        kgrade_result_free(grade_folder(run, first, text_of(expect, "task"), &planting, &error));
    }
    uint64_t start = io_now();
    cleanup_free char *source = NULL;
    kgrade_result *result = grade_folder(run, folder, text_of(expect, "task"), &source, &error);
    double seconds = (double)(io_now() - start) * 1e-9;
    printf("case   %s (%.1f s): %s\n", name, seconds, text_of(expect, "about"));
    if (result)
        check_result(run, expect, source, result);
    else
        complain(run, "the request was refused: %s: %s", error.code, error.message);
    kgrade_result_free(result);
    if (world_left_behind(&run->quiet, ALL_KINDS, run->folder, QUIET_SECONDS,
                          INDENT "left behind: "))
        complain(run, "something was left behind");
    printf("%s\n", run->failures ? "FAILED" : "ok");
    fflush(stdout);
    return run->failures > 0;
}

static bool has_device(void)
{
    char *text = NULL;
    kgrade_error error;
    if (kgrade_doctor(&limits, &text, &error))
        return false;
    cleanup_free char *owned = text;
    json_auto_t *doctor = json_loads(owned, 0, NULL);
    const json_t *lines = json_is_array(doctor) ? doctor : json_object_get(doctor, "checks");
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        if (!strcmp(text_of(line, "name"), "device: opencl"))
            return json_is_true(json_object_get(line, "ok"));
    }
    return false;
}

static int run_all(struct run *run, char **folders, int n)
{
    int failed = 0, done = 0;
    world_adopt_orphans();
    struct world before = world_look(ALL_KINDS, run->folder);
    kgrade_error error;
    kgrade_options options = limits;
    options.tasks = run->tasks;
    if (kgrade_open(&options, &run->engine, &error)) {
        printf("%s: %s %s\n", error.code, error.message, error.hint);
        return 1;
    }
    if (!grade_honest(run)) {
        printf("An honest candidate is not accepted to begin with.\n");
        failed++;
    }
    run->quiet = world_look(ALL_KINDS, run->folder);
    for (int i = 0; i < n; i++) {
        int r = run_case(run, folders[i]);
        failed += r == 1;
        done += r != SKIPPED;
        if (((i + 1) % HONEST_EVERY == 0 || i + 1 == n) && !grade_honest(run)) {
            printf("FAILED an honest candidate is not accepted any more\n");
            failed++;
        }
    }
    kgrade_close(run->engine);
    if (world_left_behind(&before, ALL_KINDS, run->folder, QUIET_SECONDS,
                          "left behind at the end: "))
        failed++;
    world_free(&before);
    world_free(&run->quiet);
    return failed ? 1 : done ? 0 : SKIPPED;
}

int main(int argc, char **argv)
{
    static struct run run;
    bool print = argc == 3 && !strcmp(argv[1], "--print");
    char **folders = argv + 1 + print;
    int n = (int)(argv + argc - folders);
    if (n < 1 || folders[0][0] == '-') {
        fprintf(stderr, "usage: run_case [--print] FOLDER...\n");
        return 2;
    }
    cleanup_free char *first = realpath(folders[0], NULL);
    snprintf(run.suite, sizeof run.suite, "%s", first ? dirname(dirname(first)) : ".");
    snprintf(run.folder, sizeof run.folder, "/tmp/hostile-XXXXXX");
    if (!mkdtemp(run.folder)) {
        perror(run.folder);
        return 1;
    }
    setenv("TMPDIR", run.folder, 1);
    bait_lay(&run.bait, run.folder);
    small_tasks_make(run.folder);
    snprintf(run.tasks, sizeof run.tasks, "%s/tasks", run.folder);
    int status = 0;
    if (print) {
        cleanup_free char *source = candidate_source(folders[0], run.tasks, &run.bait);
        if (source)
            fputs(source, stdout);
    } else if (!has_device()) {
        printf("skipped: there is no OpenCL device; install pocl-opencl-icd\n");
        status = SKIPPED;
    } else {
        status = run_all(&run, folders, n);
    }
    bait_remove(&run.bait);
    small_tasks_remove(run.folder);
    rmdir(run.folder);
    return status;
}
