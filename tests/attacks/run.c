#define _GNU_SOURCE
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "candidate.h"
#include "small_tasks.h"

#define PYTHON "/usr/bin/python3" /* Debian's, whose modules are packages */
#define CACHE KGRADE_BUILD_DIR "/tests/attacks/cache"

/* Short limits: the point is that they hold, not how long they are. */
kgrade_options run_limits = {.prefix = KGRADE_BUILD_DIR,
                             .cache = CACHE,
                             .allow_reduced = true,
                             .precision = 0.05,
                             .max_samples = 24,
                             .max_seconds = 0.2,
                             .build_timeout_s = 4,
                             .record_timeout_s = 7,
                             .replay_timeout_s = 7};

static bool is_called(const char *file, const char *extension)
{
    const char *dot = strrchr(file, '.');
    return dot && !strcmp(dot, extension);
}

static const char *language_of(const char *file)
{
    return is_called(file, ".py") ? "python" : "c";
}

void outcome_free(struct outcome *outcome)
{
    kgrade_result_free(outcome->result);
    *outcome = (struct outcome){0};
}

void run_grade(struct run *run, const char *folder, const char *file, const char *task,
               char **ret_source, struct outcome *ret)
{
    *ret_source = candidate_source(folder, file, run->facts);
    if (!*ret_source)
        exit(1);
    bool cuda = run->on_cuda || is_called(file, ".cu");
    const kgrade_request request = {.task = task,
                                    .device = cuda ? "cuda" : "opencl",
                                    .language = cuda ? "cuda" : language_of(file),
                                    .source = *ret_source,
                                    .source_size = strlen(*ret_source)};
    if (kgrade_grade(run->engine, &request, NULL, NULL, &ret->result, &ret->error))
        ret->result = NULL;
}

bool run_once_more(const struct outcome *outcome, const json_t *expect, unsigned *tries)
{
    if (!check_machine_was_busy(outcome) || check_expected(outcome, expect) ||
        ++*tries > RUN_BUSY_RETRIES)
        return false;
    printf(RUN_INDENT "%s: once more\n",
           kgrade_verdict_name(kgrade_result_verdict(outcome->result)));
    return true;
}

bool run_open_engine(struct run *run, const kgrade_options *options)
{
    kgrade_error error;
    run->options = *options;
    if (!kgrade_open(options, &run->engine, &error))
        return true;
    printf("%s: %s %s\n", error.code, error.message, error.hint);
    return false;
}

static void grade_patiently(struct run *run, const char *folder, const char *file, const char *task,
                            char **ret_source, struct outcome *ret)
{
    kgrade *engine = run->engine;
    const kgrade_options options = run->options;
    kgrade_options patient = options;
    patient.build_timeout_s = patient.record_timeout_s = patient.replay_timeout_s = RUN_PATIENCE_S;
    if (!run_open_engine(run, &patient))
        exit(1);
    run_grade(run, folder, file, task, ret_source, ret);
    kgrade_close(run->engine);
    run->engine = engine;
    run->options = options;
}

void run_grade_settled(struct run *run, const char *folder, const char *file, const char *task,
                       const json_t *expect, char **ret_source, struct outcome *ret)
{
    unsigned tries = 0;
    run_grade(run, folder, file, task, ret_source, ret);
    while (run_once_more(ret, expect, &tries)) {
        kgrade_verdict verdict = kgrade_result_verdict(ret->result);
        bool slow = verdict == KGRADE_TIMEOUT || verdict == KGRADE_BUILD_FAILED;
        free(*ret_source);
        *ret_source = NULL;
        outcome_free(ret);
        (slow ? grade_patiently : run_grade)(run, folder, file, task, ret_source, ret);
    }
}

bool run_has_device(struct run *run)
{
    bool works = false;
    char *text = NULL;
    kgrade_error error;
    kgrade_options options = run_limits;
    options.tasks = run->tasks;
    if (kgrade_doctor(&options, &text, &error))
        return false;
    cleanup_free char *owned = text;
    json_auto_t *doctor = json_loads(owned, 0, NULL);
    const json_t *lines = json_is_array(doctor) ? doctor : json_object_get(doctor, "checks");
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        if (!strcmp(candidate_text(line, "name"), "device: opencl"))
            works = json_is_true(json_object_get(line, "ok"));
        else if (!strcmp(candidate_text(line, "name"), "device: cuda"))
            run->cuda = json_is_true(json_object_get(line, "ok"));
        else if (!strncmp(candidate_text(line, "name"), "python: ", 8))
            run->python = strstr(candidate_text(line, "detail"), "pyopencl") != NULL;
    }
    return works;
}

const char *run_why_not_here(const struct run *run, const json_t *expect, const char *file)
{
    if (is_called(file, ".py") && !run->python)
        return "Debian's Python has no PyOpenCL; install python3-pyopencl";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    if (is_called(file, ".py"))
        return "an interpreter without a sanitizer cannot load a recorder that has one";
#endif
    struct utsname machine;
    const char *wanted = json_string_value(json_object_get(expect, "machine"));
    if (wanted && !uname(&machine) && strcmp(machine.machine, wanted))
        return "it is written for another processor";
    if (json_object_get(expect, "isolation") && !run->full)
        return "this machine gives no full isolation";
    return NULL;
}

void run_check_quiet(struct run *run)
{
    if (world_left_behind(&run->quiet, WORLD_ALL, &run->bait, RUN_QUIET_SECONDS,
                          RUN_INDENT "left behind: ")) {
        run_complain(run, "something was left behind");
        world_free(&run->quiet); /* the next case is not to blame for it */
        run->quiet = world_look(WORLD_ALL, &run->bait);
    }
}

/* Everyone may pass: what a jail does not see, it is the jail that hides it. */
void run_set_scene(struct run *run)
{
    char folder[] = "/tmp/attacks-XXXXXX";
    if (!mkdtemp(folder) || chmod(folder, 0711)) {
        perror(folder);
        exit(1);
    }
    setenv("TMPDIR", folder, 1);
    run_limits.python = access(PYTHON, X_OK) == 0 ? PYTHON : NULL;
    bait_lay(&run->bait, folder, CACHE);
    small_tasks_make(&run->bait);
    snprintf(run->tasks, sizeof run->tasks, "%s/tasks", folder);
    run->facts = bait_facts(&run->bait, run->tasks);
    if (!run->facts)
        exit(1);
}

void run_clear_scene(struct run *run)
{
    bait_remove(&run->bait);
    small_tasks_remove(&run->bait);
    rmdir(run->bait.folder);
    free(run->facts);
}
