/*
 * Grades hostile candidates and forged recordings, and checks what comes of it.
 *
 *     run_case FOLDER...        grades each with one engine: 0 all as expected, 1 not, 77 nothing could be run
 *     run_case --print FOLDER   prints the source that is graded
 *
 * For each folder: the verdict and reason of expect.json; a message, a hint and a log that an author can
 * use; no secret and no path of the machine in the result; nothing left behind.  Every few cases and at the
 * end an honest candidate must still be accepted by the same engine.
 *
 * KGRADE_REDUCED=1 runs with reduced isolation even where full would work.
 */
#define _GNU_SOURCE
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "candidate.h"
#include "forge.h"
#include "run.h"
#include "small_tasks.h"

#define SKIPPED 77
#define QUIET_SECONDS 5
#define HONEST_EVERY 10 /* cases; a grade takes seconds */
#define CACHE KGRADE_BUILD_DIR "/tests/attacks/cache"
#define HONEST_TASK "short_add"

/* Short limits: the point is that they hold, not how long they are. */
static kgrade_options limits = {.prefix = KGRADE_BUILD_DIR,
                                .cache = CACHE,
                                .allow_reduced = true,
                                .precision = 0.05,
                                .max_samples = 24,
                                .max_seconds = 0.2,
                                .build_timeout_s = 4,
                                .record_timeout_s = 7,
                                .replay_timeout_s = 7};

static void free_outcome(struct outcome *outcome)
{
    kgrade_result_free(outcome->result);
}
#define cleanup_outcome_ __attribute__((cleanup(free_outcome)))

/* The source is the caller's to free. */
static void grade_source(struct run *run, const char *folder, const char *task, char **ret_source,
                         struct outcome *ret)
{
    *ret_source = candidate_source(folder, run->facts);
    if (!*ret_source)
        exit(1);
    const kgrade_request request = {.task = task,
                                    .device = "opencl",
                                    .language = "c",
                                    .source = *ret_source,
                                    .source_size = strlen(*ret_source)};
    if (kgrade_grade(run->engine, &request, NULL, NULL, &ret->result, &ret->error))
        ret->result = NULL;
}

static void keep_recording(struct run *run, const kgrade_result *result)
{
    size_t size = 0;
    const void *data = kgrade_result_recording(result, &size);
    if (run->recording.data || !data)
        return;
    run->recording.data = malloc(size);
    if (!run->recording.data)
        exit(1);
    memcpy(run->recording.data, data, size);
    run->recording.size = size;
}

static bool grade_honest(struct run *run)
{
    char folder[4200];
    cleanup_outcome_ struct outcome outcome = {0};
    snprintf(folder, sizeof folder, "%s/honest/honest", run->suite);
    cleanup_free char *source = NULL;
    grade_source(run, folder, HONEST_TASK, &source, &outcome);
    if (!outcome.result) {
        printf(RUN_INDENT "the honest candidate: %s: %s\n", outcome.error.code,
               outcome.error.message);
        return false;
    }
    keep_recording(run, outcome.result);
    bool accepted = check_accepted(outcome.result);
    json_auto_t *json = json_loads(kgrade_result_json(outcome.result), 0, NULL);
    cleanup_free char *compact = accepted ? NULL : json_dumps(json, JSON_COMPACT);
    if (compact)
        printf(RUN_INDENT "the honest candidate: %s\n", compact);
    run->full = !strcmp(candidate_text(json_object_get(json, "environment"), "isolation"), "full");
    return accepted;
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

static void grade_forgery(struct run *run, const json_t *expect, struct outcome *ret)
{
    cleanup_bytes struct bytes forged = {0};
    if (forge_recording(&run->recording, json_object_get(expect, "forge"), &forged)) {
        run_complain(run, "there is nothing to grade");
        snprintf(ret->error.code, sizeof ret->error.code, "no_forgery");
        return;
    }
    if (kgrade_replay(run->engine, candidate_text(expect, "task"), forged.data, forged.size, NULL,
                      NULL, &ret->result, &ret->error))
        ret->result = NULL;
}

static void grade_case(struct run *run, const char *folder, const json_t *expect, char **ret_source,
                       struct outcome *ret)
{
    const char *task = candidate_text(expect, "task");
    const char *after = json_string_value(json_object_get(expect, "after"));
    if (after) {
        char first[4200];
        cleanup_outcome_ struct outcome planted = {0};
        cleanup_free char *planting = NULL;
        snprintf(first, sizeof first, "%s/%s", run->suite, after);
        grade_source(run, first, task, &planting, &planted);
    }
    if (json_object_get(expect, "forge"))
        grade_forgery(run, expect, ret);
    else
        grade_source(run, folder, task, ret_source, ret);
}

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
    cleanup_outcome_ struct outcome outcome = {0};
    cleanup_free char *source = NULL;
    uint64_t start = io_now();
    grade_case(run, folder, expect, &source, &outcome);
    double seconds = (double)(io_now() - start) * 1e-9;
    printf("case   %s (%.1f s): %s\n", name, seconds, candidate_text(expect, "about"));
    check_outcome(run, expect, source ? source : "", &outcome);
    if (world_left_behind(&run->quiet, WORLD_ALL, &run->bait, QUIET_SECONDS,
                          RUN_INDENT "left behind: ")) {
        run_complain(run, "something was left behind");
        world_free(&run->quiet); /* the next case is not to blame for it */
        run->quiet = world_look(WORLD_ALL, &run->bait);
    }
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
        if (!strcmp(candidate_text(line, "name"), "device: opencl"))
            return json_is_true(json_object_get(line, "ok"));
    }
    return false;
}

static int run_all(struct run *run, char **folders, int n)
{
    int failed = 0, done = 0;
    struct world before = world_look(WORLD_ALL, &run->bait);
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
    run->quiet = world_look(WORLD_ALL, &run->bait);
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
    if (world_left_behind(&before, WORLD_ALL, &run->bait, QUIET_SECONDS,
                          "left behind at the end: "))
        failed++;
    world_free(&before);
    world_free(&run->quiet);
    bytes_free(&run->recording);
    return failed ? 1 : done ? 0 : SKIPPED;
}

/* Everyone may pass: what a jail does not see, it is the jail that hides it. */
static void set_the_scene(struct run *run)
{
    char folder[] = "/tmp/attacks-XXXXXX";
    if (!mkdtemp(folder) || chmod(folder, 0711)) {
        perror(folder);
        exit(1);
    }
    setenv("TMPDIR", folder, 1);
    bait_lay(&run->bait, folder, CACHE);
    small_tasks_make(&run->bait);
    snprintf(run->tasks, sizeof run->tasks, "%s/tasks", folder);
    run->facts = bait_facts(&run->bait, run->tasks);
    if (!run->facts)
        exit(1);
}

static void clear_the_scene(struct run *run)
{
    bait_remove(&run->bait);
    small_tasks_remove(&run->bait);
    rmdir(run->bait.folder);
    free(run->facts);
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
    if (getenv("KGRADE_REDUCED"))
        limits.force_reduced = true;
    world_enter();
    set_the_scene(&run);
    int status = 0;
    if (print) {
        cleanup_free char *source = candidate_source(folders[0], run.facts);
        if (source)
            fputs(source, stdout);
    } else if (!has_device()) {
        printf("skipped: there is no OpenCL device; install pocl-opencl-icd\n");
        status = SKIPPED;
    } else {
        status = run_all(&run, folders, n);
    }
    clear_the_scene(&run);
    return status;
}
