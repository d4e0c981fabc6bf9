/*
 * Grades hostile candidates and forged recordings, and checks what comes of it.
 *
 *     run_case FOLDER...        grades each with one engine: 0 all as expected, 1 not, 77 nothing could be run
 *     run_case --print FOLDER   prints the source that is graded
 *     run_case --cuda FOLDER... on the CUDA device, those whose attack is in host code and has nothing to do with OpenCL
 *
 * For each folder: the verdict and reason of expect.json; a message, a hint and a log that an author can
 * use; no secret and no path of the machine in the result; nothing left behind.  Every few cases and at the
 * end an honest candidate must still be accepted by the same engine.
 *
 * KGRADE_REDUCED=1 runs with reduced isolation even where full would work.
 */
#define _GNU_SOURCE
#include <libgen.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "candidate.h"
#include "forge.h"
#include "run.h"

#define HONEST_EVERY 25 /* cases; a grade takes seconds */
#define HONEST_TASK "short_add"
#define CUDA_BUILD_SECONDS 60
#define CANDIDATE "candidate.c"
#define PYTHON_CANDIDATE "candidate.py"

static const char *file_of(const json_t *expect)
{
    return strcmp(candidate_text(expect, "language"), "python") ? CANDIDATE : PYTHON_CANDIDATE;
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
    cleanup_outcome struct outcome outcome = {0};
    snprintf(folder, sizeof folder, "%s/honest/honest", run->suite);
    cleanup_free char *source = NULL;
    json_auto_t *expect = json_pack("{s:s}", "verdict", "accepted");
    run_grade_settled(run, folder, CANDIDATE, HONEST_TASK, expect, &source, &outcome);
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
        cleanup_outcome struct outcome planted = {0};
        cleanup_free char *planting = NULL;
        snprintf(first, sizeof first, "%s/%s", run->suite, after);
        run_grade(run, first, CANDIDATE, task, &planting, &planted);
    }
    unsigned tries = 0;
    if (json_object_get(expect, "forge"))
        do {
            outcome_free(ret);
            grade_forgery(run, expect, ret);
        } while (run_once_more(ret, expect, &tries));
    else
        run_grade_settled(run, folder, file_of(expect), task, expect, ret_source, ret);
}

/* Host code that has no more to do with OpenCL than honest.h has for it is C++ as well. */
static bool is_for_cuda(const char *folder, const json_t *expect)
{
    char path[4200];
    regex_t opencl;
    cleanup_bytes struct bytes source = {0};
    snprintf(path, sizeof path, "%s/" CANDIDATE, folder);
    if (json_object_get(expect, "forge") || io_read_file(path, 1u << 20, &source, NULL) ||
        regcomp(&opencl, "cl[A-Z]|cl_[^mc]|KERNEL|make_kernel|add_with|launch\\(|OpenCL",
                REG_EXTENDED | REG_NOSUB))
        return false;
    bool found = regexec(&opencl, (const char *)source.data, 0, NULL, 0) == 0;
    regfree(&opencl);
    return !found;
}

static const char *why_not_here(const struct run *run, const char *folder, const json_t *expect)
{
    return run->on_cuda && !is_for_cuda(folder, expect)
               ? "it is about OpenCL"
               : run_why_not_here(run, expect, file_of(expect));
}

/* 0 as expected, 1 not, RUN_SKIPPED. */
static int run_case(struct run *run, const char *folder)
{
    json_auto_t *expect = candidate_expectation(folder);
    cleanup_free char *copy = strdup(folder);
    const char *name = copy ? basename(copy) : folder;
    const char *reason = expect ? why_not_here(run, folder, expect) : NULL;
    if (!expect)
        return 1;
    run->failures = 0;
    if (reason) {
        printf("skip   %s: %s\n", name, reason);
        return RUN_SKIPPED;
    }
    cleanup_outcome struct outcome outcome = {0};
    cleanup_free char *source = NULL;
    uint64_t start = io_now();
    grade_case(run, folder, expect, &source, &outcome);
    double seconds = (double)(io_now() - start) * 1e-9;
    printf("case   %s (%.1f s): %s\n", name, seconds, candidate_text(expect, "about"));
    check_outcome(run, expect, source ? source : "", &outcome);
    run_check_quiet(run);
    printf("%s\n", run->failures ? "FAILED" : "ok");
    fflush(stdout);
    return run->failures > 0;
}

static int run_all(struct run *run, char **folders, int n)
{
    int failed = 0, done = 0;
    struct world before = world_look(WORLD_ALL, &run->bait);
    kgrade_options options = run_limits;
    options.tasks = run->tasks;
    if (run->on_cuda)
        options.build_timeout_s = CUDA_BUILD_SECONDS;
    if (!run_open_engine(run, &options))
        return 1;
    if (!grade_honest(run)) {
        printf("An honest candidate is not accepted to begin with.\n");
        failed++;
    }
    run->quiet = world_look(WORLD_ALL, &run->bait);
    for (int i = 0; i < n; i++) {
        int r = run_case(run, folders[i]);
        failed += r == 1;
        done += r != RUN_SKIPPED;
        if (((i + 1) % HONEST_EVERY == 0 || i + 1 == n) && !grade_honest(run)) {
            printf("FAILED an honest candidate is not accepted any more\n");
            failed++;
        }
    }
    kgrade_close(run->engine);
    if (world_left_behind(&before, WORLD_ALL, &run->bait, RUN_QUIET_SECONDS,
                          "left behind at the end: "))
        failed++;
    world_free(&before);
    world_free(&run->quiet);
    bytes_free(&run->recording);
    return failed ? 1 : done ? 0 : RUN_SKIPPED;
}

int main(int argc, char **argv)
{
    static struct run run;
    bool print = argc == 3 && !strcmp(argv[1], "--print");
    run.on_cuda = argc > 2 && !strcmp(argv[1], "--cuda");
    char **folders = argv + 1 + (print || run.on_cuda);
    int n = (int)(argv + argc - folders);
    if (n < 1 || folders[0][0] == '-') {
        fprintf(stderr, "usage: run_case [--print|--cuda] FOLDER...\n");
        return 2;
    }
    cleanup_free char *first = realpath(folders[0], NULL);
    snprintf(run.suite, sizeof run.suite, "%s", first ? dirname(dirname(first)) : ".");
    if (getenv("KGRADE_REDUCED"))
        run_limits.force_reduced = true;
    world_enter();
    run_set_scene(&run);
    int status = 0;
    if (print) {
        cleanup_free char *source = candidate_source(folders[0], CANDIDATE, run.facts);
        if (source)
            fputs(source, stdout);
    } else if (!run_has_device(&run) && !run.on_cuda) {
        printf("skipped: there is no OpenCL device; install pocl-opencl-icd\n");
        status = RUN_SKIPPED;
    } else if (run.on_cuda && !run.cuda) {
        printf("skipped: there is no CUDA device\n");
        status = RUN_SKIPPED;
    } else {
        status = run_all(&run, folders, n);
    }
    run_clear_scene(&run);
    return status;
}
