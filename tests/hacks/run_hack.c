/*
 * Grades hacks and their honest twins, and compares what they earn.
 *
 *     run_hack [--device DEVICE] FOLDER...    0 all as expected, 1 not, 77 nothing could be run
 *     run_hack --print FOLDER FILE            prints the source that is graded: FILE is hack.c, twin.c, hack.cu or twin.cu
 *
 * A folder holds a hack for each device that it is written for; those of devices that are not here are skipped.
 *
 * A hack must get a verdict and code of hack.json, its twin must be accepted, and an accepted hack must not have a better
 * score than its twin.  After each grade nothing may be left behind.  At the end there is a table of all.
 *
 * KGRADE_REDUCED=1 runs with reduced isolation even where full would work.
 */
#define _GNU_SOURCE
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../attacks/candidate.h"
#include "../attacks/run.h"

#define MAX_PATH 4096
#define MAX_PAIRS 256

/* An interval of a median says how well the samples of one process are known.  Two processes with the same code differ by
 * more, for their memory lies elsewhere: what a hack earns above its twin must be seen every time that both are graded. */
#define ROUNDS 4
#define MARGIN 1.05

/* Enough for an interval that tells a hack from its twin; a quiet machine needs a third of it. */
#define MAX_SAMPLES 60
#define MAX_SECONDS 0.5
#define NOISY_RETRIES 2
#define CUDA_BUILD_SECONDS 30 /* nvcc takes its time */

/* The languages that hacks are written in. */
static const struct kind {
    const char *device, *hack, *twin, *missing;
} kinds[] = {{"opencl", "hack.c", "twin.c", "there is no OpenCL device; install pocl-opencl-icd"},
             {"cuda", "hack.cu", "twin.cu", "there is no CUDA device"}};
#define N_KINDS (sizeof kinds / sizeof kinds[0])

struct grade {
    bool known;
    char verdict[24], code[48];
    bool accepted, too_noisy;
    double score, low, high; /* geometric mean of the speedups, and the ends of their intervals */
};

struct twin {
    const struct kind *kind;
    char path[MAX_PATH], task[32];
    struct grade grade;
    bool failed;
};

struct pair {
    const struct kind *kind;
    char name[128];
    struct grade hack;
    const struct twin *twin;
    const char *outcome; /* "ok", "FAILED" or why it could not be decided */
};

/* A hack for one device. */
struct job {
    const struct kind *kind;
    const char *folder;
    const json_t *hack; /* hack.json */
};

static struct {
    struct run run;
    const char *device; /* NULL: all */
    bool is_here[N_KINDS];
    struct twin twins[MAX_PAIRS];
    size_t n_twins;
    struct pair pairs[MAX_PAIRS];
    size_t n_pairs;
} suite;

/* --- grading --- */

static void read_scores(const json_t *json, struct grade *ret)
{
    const json_t *cases = json_object_get(json, "cases");
    double low = 0, high = 0;
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *speedup = json_object_get(json_array_get(cases, i), "speedup");
        if (!json_is_object(speedup))
            continue;
        low += log(json_number_value(json_object_get(speedup, "low")));
        high += log(json_number_value(json_object_get(speedup, "high")));
        n++;
    }
    ret->score = json_number_value(json_object_get(json, "score"));
    ret->low = n ? exp(low / (double)n) : 0;
    ret->high = n ? exp(high / (double)n) : 0;
}

static void read_grade(const struct outcome *o, struct grade *ret)
{
    *ret = (struct grade){.known = true};
    if (!o->result) {
        snprintf(ret->verdict, sizeof ret->verdict, "not_taken");
        snprintf(ret->code, sizeof ret->code, "%s", o->error.code);
        return;
    }
    json_auto_t *json = json_loads(kgrade_result_json(o->result), 0, NULL);
    const char *code = candidate_text(json_object_get(json, "reason"), "code");
    snprintf(ret->verdict, sizeof ret->verdict, "%s", candidate_text(json, "verdict"));
    snprintf(ret->code, sizeof ret->code, "%s", code);
    ret->accepted = kgrade_result_verdict(o->result) == KGRADE_ACCEPTED;
    ret->too_noisy = !ret->accepted && check_accepted(o->result);
    read_scores(json, ret);
}

/* Grades a source, and checks all that any grade must hold. */
static void grade_once(const char *folder, const char *file, const char *task, const json_t *expect,
                       struct grade *ret)
{
    cleanup_outcome struct outcome outcome = {0};
    cleanup_free char *source = NULL;
    run_grade_settled(&suite.run, folder, file, task, expect, &source, &outcome);
    check_outcome(&suite.run, expect, source, &outcome);
    run_check_quiet(&suite.run);
    read_grade(&outcome, ret);
}

/* The same, again while the machine is too busy with something else. */
static void grade(const char *folder, const char *file, const char *task, const json_t *expect,
                  struct grade *ret)
{
    grade_once(folder, file, task, expect, ret);
    for (int i = 0; i < NOISY_RETRIES && ret->too_noisy && !suite.run.failures; i++)
        grade_once(folder, file, task, expect, ret);
}

/* --- twins --- */

/* What hack.json says of a device, where it says something else there. */
static const json_t *told(const struct job *job, const char *key)
{
    const json_t *here = json_object_get(json_object_get(job->hack, job->kind->device), key);
    return here ? here : json_object_get(job->hack, key);
}

static const char *task_of(const struct job *job)
{
    const char *task = json_string_value(told(job, "task"));
    return task ? task : "";
}

/* A twin too noisy to time has not been punished; only one that a score is compared with must have one. */
static void grade_twin(struct twin *twin, bool compared)
{
    json_auto_t *expect = json_pack("{s:[s]}", "verdicts", "accepted");
    int before = suite.run.failures;
    printf(RUN_INDENT "its twin:\n");
    (compared ? grade : grade_once)(twin->path, twin->kind->twin, twin->task, expect, &twin->grade);
    twin->failed = twin->failed || suite.run.failures > before;
}

/* Hacks with the same twin share its grade. */
static struct twin *find_twin(const struct kind *kind, const char *path, const char *task)
{
    for (size_t i = 0; i < suite.n_twins; i++)
        if (suite.twins[i].kind == kind && !strcmp(suite.twins[i].path, path) &&
            !strcmp(suite.twins[i].task, task))
            return &suite.twins[i];
    if (suite.n_twins == MAX_PAIRS) {
        fprintf(stderr, "There are more than %d twins.\n", MAX_PAIRS);
        exit(1);
    }
    struct twin *twin = &suite.twins[suite.n_twins++];
    twin->kind = kind;
    snprintf(twin->path, sizeof twin->path, "%s", path);
    snprintf(twin->task, sizeof twin->task, "%s", task);
    grade_twin(twin, false);
    return twin;
}

static struct twin *twin_of(const struct job *job)
{
    const char *name = json_string_value(told(job, "twin"));
    char path[MAX_PATH];
    if (name)
        snprintf(path, sizeof path, "%.2000s/%.100s", suite.run.suite, name);
    else
        snprintf(path, sizeof path, "%.2000s", job->folder);
    return find_twin(job->kind, path, task_of(job));
}

/* --- comparing --- */

static bool is_above(const struct grade *hack, const struct grade *twin)
{
    return hack->accepted && twin->accepted && hack->low > twin->high * MARGIN;
}

/* Whether the hack is above its twin in every round. */
static bool stays_above(const struct job *job, const json_t *expect, struct twin *twin,
                        struct grade *hack)
{
    for (int round = 1; round < ROUNDS && !suite.run.failures && is_above(hack, &twin->grade);
         round++) {
        printf(RUN_INDENT "a score of %.3f to %.3f, and a twin with %.3f to %.3f: once more\n",
               hack->low, hack->high, twin->grade.low, twin->grade.high);
        grade(job->folder, job->kind->hack, task_of(job), expect, hack);
        grade_twin(twin, true);
    }
    return is_above(hack, &twin->grade);
}

static void check_code(const struct job *job, const struct grade *g)
{
    const json_t *codes = told(job, "codes");
    if (codes && !g->accepted && !g->too_noisy && !candidate_is_one_of(g->code, NULL, codes))
        run_complain(&suite.run, "the reason is \"%s\"", g->code);
}

/* "ok", "FAILED", or why it is undecided. */
static const char *run_pair(const struct job *job, struct pair *pair)
{
    json_auto_t *expect = json_pack("{s:O}", "verdicts", told(job, "verdicts"));
    if (!expect)
        return "FAILED";
    grade(job->folder, job->kind->hack, task_of(job), expect, &pair->hack);
    check_code(job, &pair->hack);
    struct twin *twin = twin_of(job);
    pair->twin = twin;
    if (pair->hack.accepted && twin->grade.too_noisy)
        grade_twin(twin, true);
    if (stays_above(job, expect, twin, &pair->hack))
        run_complain(&suite.run, "the hack earns more than its twin");
    if (suite.run.failures || twin->failed)
        return "FAILED";
    if (pair->hack.too_noisy || (pair->hack.accepted && !twin->grade.accepted))
        return "too noisy to compare";
    return "ok";
}

static bool has_file(const char *folder, const char *name)
{
    char path[MAX_PATH];
    snprintf(path, sizeof path, "%.2000s/%s", folder, name);
    return access(path, R_OK) == 0;
}

static int run_job(const struct job *job)
{
    struct pair *pair = &suite.pairs[suite.n_pairs];
    const char *name = job->folder + strlen(suite.run.suite) + 1;
    const char *reason = suite.is_here[job->kind - kinds]
                             ? run_why_not_here(&suite.run, job->hack, job->kind->hack)
                             : job->kind->missing;
    if (suite.n_pairs == MAX_PAIRS)
        return 1;
    suite.run.failures = 0;
    printf("hack   %s (%s): %s\n", name, job->kind->device, candidate_text(job->hack, "about"));
    if (reason) {
        printf(RUN_INDENT "skipped: %s\n", reason);
        return RUN_SKIPPED;
    }
    pair->kind = job->kind;
    snprintf(pair->name, sizeof pair->name, "%s", name);
    pair->outcome = run_pair(job, pair);
    suite.n_pairs++;
    printf("%s\n", pair->outcome);
    fflush(stdout);
    return strcmp(pair->outcome, "FAILED") == 0;
}

/* Adds to *failed and *done. */
static void run_folder(const char *folder, int *failed, int *done)
{
    json_auto_t *hack = candidate_hack(folder);
    bool is_empty = true;
    for (size_t i = 0; hack && i < N_KINDS; i++) {
        const struct job job = {.kind = &kinds[i], .folder = folder, .hack = hack};
        if (!has_file(folder, kinds[i].hack))
            continue;
        is_empty = false;
        if (suite.device && strcmp(suite.device, kinds[i].device) != 0)
            continue;
        int result = run_job(&job);
        *failed += result == 1;
        *done += result != RUN_SKIPPED;
    }
    if (is_empty)
        printf("%s holds no hack\n", folder);
    *failed += is_empty;
}

static void print_table(void)
{
    printf("\n%-36s %-7s %-20s %-22s %7s %7s\n", "hack", "device", "verdict", "code", "score",
           "twin's");
    for (size_t i = 0; i < suite.n_pairs; i++) {
        const struct pair *p = &suite.pairs[i];
        printf("%-36s %-7s %-20s %-22s %7.3f %7.3f%s%s\n", p->name, p->kind->device,
               p->hack.verdict, p->hack.code, p->hack.score, p->twin ? p->twin->grade.score : 0,
               strcmp(p->outcome, "ok") ? "  " : "", strcmp(p->outcome, "ok") ? p->outcome : "");
    }
}

/* --- from begin to end --- */

static int run_all(char **folders, int n)
{
    int failed = 0, done = 0;
    struct world before = world_look(WORLD_ALL, &suite.run.bait);
    kgrade_options options = run_limits;
    options.tasks = suite.run.tasks;
    options.max_samples = MAX_SAMPLES;
    options.max_seconds = MAX_SECONDS;
    if (suite.run.cuda)
        options.build_timeout_s = CUDA_BUILD_SECONDS;
    if (!run_open_engine(&suite.run, &options))
        return 1;
    suite.run.quiet = world_look(WORLD_ALL, &suite.run.bait);
    for (int i = 0; i < n; i++) {
        cleanup_free char *folder = realpath(folders[i], NULL);
        if (folder) {
            run_folder(folder, &failed, &done);
        } else {
            perror(folders[i]);
            failed++;
        }
    }
    kgrade_close(suite.run.engine);
    if (world_left_behind(&before, WORLD_ALL, &suite.run.bait, RUN_QUIET_SECONDS,
                          "left behind at the end: "))
        failed++;
    world_free(&before);
    world_free(&suite.run.quiet);
    print_table();
    return failed ? 1 : done ? 0 : RUN_SKIPPED;
}

static int print_source(const char *folder, const char *file)
{
    cleanup_free char *source = candidate_source(folder, file, suite.run.facts);
    if (source)
        fputs(source, stdout);
    return source ? 0 : 1;
}

/* Whether there is a device that was asked for. */
static bool look_for_devices(void)
{
    bool any = false;
    suite.is_here[0] = run_has_device(&suite.run);
    suite.is_here[1] = suite.run.cuda;
    for (size_t i = 0; i < N_KINDS; i++) {
        if (suite.device && strcmp(suite.device, kinds[i].device) != 0)
            continue;
        any = any || suite.is_here[i];
        if (!suite.is_here[i])
            printf("skipped: %s\n", kinds[i].missing);
    }
    return any;
}

int main(int argc, char **argv)
{
    bool print = argc == 4 && !strcmp(argv[1], "--print");
    bool device = argc > 3 && !strcmp(argv[1], "--device");
    char **folders = argv + 1 + print + 2 * device;
    if (argc < 2 || folders[0][0] == '-') {
        fprintf(stderr, "usage: run_hack [--device DEVICE] FOLDER... | --print FOLDER FILE\n");
        return 2;
    }
    suite.device = device ? argv[2] : NULL;
    cleanup_free char *first = realpath(folders[0], NULL);
    snprintf(suite.run.suite, sizeof suite.run.suite, "%s", first ? dirname(dirname(first)) : ".");
    if (getenv("KGRADE_REDUCED"))
        run_limits.force_reduced = true;
    world_enter();
    run_set_scene(&suite.run);
    int status = RUN_SKIPPED;
    if (print)
        status = print_source(folders[0], folders[1]);
    else if (look_for_devices())
        status = run_all(folders, (int)(argv + argc - folders));
    run_clear_scene(&suite.run);
    return status;
}
