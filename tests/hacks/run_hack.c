/*
 * Grades hacks and their honest twins, and compares what they earn.
 *
 *     run_hack FOLDER...              0 all as expected, 1 not, 77 nothing could be run
 *     run_hack --print FOLDER FILE    prints the source that is graded: FILE is hack.c or twin.c
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
#define MAX_PAIRS 128

/* An interval of a median says how well the samples of one process are known.  Two processes with the same code differ by
 * more, for their memory lies elsewhere: what a hack earns above its twin must be seen every time that both are graded. */
#define ROUNDS 4
#define MARGIN 1.05

/* Enough for an interval that tells a hack from its twin; a quiet machine needs a third of it. */
#define MAX_SAMPLES 60
#define MAX_SECONDS 0.5
#define NOISY_RETRIES 2

struct grade {
    bool known;
    char verdict[24], code[48];
    bool accepted, too_noisy;
    double score, low, high; /* geometric mean of the speedups, and the ends of their intervals */
};

struct twin {
    char path[MAX_PATH], task[32];
    struct grade grade;
    bool failed;
};

struct pair {
    char name[128];
    struct grade hack;
    const struct twin *twin;
    const char *outcome; /* "ok", "FAILED" or why it could not be decided */
};

static struct {
    struct run run;
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
    run_grade(&suite.run, folder, file, task, &source, &outcome);
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

/* A twin too noisy to time has not been punished; only one that a score is compared with must have one. */
static void grade_twin(struct twin *twin, bool compared)
{
    json_auto_t *expect = json_pack("{s:[s]}", "verdicts", "accepted");
    int before = suite.run.failures;
    printf(RUN_INDENT "its twin:\n");
    (compared ? grade : grade_once)(twin->path, "twin.c", twin->task, expect, &twin->grade);
    twin->failed = twin->failed || suite.run.failures > before;
}

/* Hacks with the same twin share its grade. */
static struct twin *find_twin(const char *path, const char *task)
{
    for (size_t i = 0; i < suite.n_twins; i++)
        if (!strcmp(suite.twins[i].path, path) && !strcmp(suite.twins[i].task, task))
            return &suite.twins[i];
    if (suite.n_twins == MAX_PAIRS) {
        fprintf(stderr, "There are more than %d twins.\n", MAX_PAIRS);
        exit(1);
    }
    struct twin *twin = &suite.twins[suite.n_twins++];
    snprintf(twin->path, sizeof twin->path, "%s", path);
    snprintf(twin->task, sizeof twin->task, "%s", task);
    grade_twin(twin, false);
    return twin;
}

static struct twin *twin_of(const char *folder, const json_t *hack)
{
    const char *name = json_string_value(json_object_get(hack, "twin"));
    char path[MAX_PATH];
    if (name)
        snprintf(path, sizeof path, "%.2000s/%.100s", suite.run.suite, name);
    else
        snprintf(path, sizeof path, "%.2000s", folder);
    return find_twin(path, candidate_text(hack, "task"));
}

/* --- comparing --- */

static bool is_above(const struct grade *hack, const struct grade *twin)
{
    return hack->accepted && twin->accepted && hack->low > twin->high * MARGIN;
}

/* Whether the hack is above its twin in every round. */
static bool stays_above(const char *folder, const char *task, const json_t *expect,
                        struct twin *twin, struct grade *hack)
{
    for (int round = 1; round < ROUNDS && !suite.run.failures && is_above(hack, &twin->grade);
         round++) {
        printf(RUN_INDENT "a score of %.3f to %.3f, and a twin with %.3f to %.3f: once more\n",
               hack->low, hack->high, twin->grade.low, twin->grade.high);
        grade(folder, "hack.c", task, expect, hack);
        grade_twin(twin, true);
    }
    return is_above(hack, &twin->grade);
}

static void check_code(const json_t *hack, const struct grade *g)
{
    const json_t *codes = json_object_get(hack, "codes");
    if (codes && !g->accepted && !g->too_noisy && !candidate_is_one_of(g->code, NULL, codes))
        run_complain(&suite.run, "the reason is \"%s\"", g->code);
}

/* "ok", "FAILED", or why it is undecided. */
static const char *run_pair(const char *folder, const json_t *hack, struct pair *pair)
{
    const char *task = candidate_text(hack, "task");
    json_auto_t *expect = json_pack("{s:O}", "verdicts", json_object_get(hack, "verdicts"));
    if (!expect)
        return "FAILED";
    grade(folder, "hack.c", task, expect, &pair->hack);
    check_code(hack, &pair->hack);
    struct twin *twin = twin_of(folder, hack);
    pair->twin = twin;
    if (pair->hack.accepted && twin->grade.too_noisy)
        grade_twin(twin, true);
    if (stays_above(folder, task, expect, twin, &pair->hack))
        run_complain(&suite.run, "the hack earns more than its twin");
    if (suite.run.failures || twin->failed)
        return "FAILED";
    if (pair->hack.too_noisy || (pair->hack.accepted && !twin->grade.accepted))
        return "too noisy to compare";
    return "ok";
}

static int run_folder(const char *folder)
{
    json_auto_t *hack = candidate_hack(folder);
    struct pair *pair = &suite.pairs[suite.n_pairs];
    const char *name = folder + strlen(suite.run.suite) + 1;
    if (!hack || suite.n_pairs == MAX_PAIRS)
        return 1;
    const char *reason = run_why_not_here(&suite.run, hack);
    suite.run.failures = 0;
    printf("hack   %s: %s\n", name, candidate_text(hack, "about"));
    if (reason) {
        printf(RUN_INDENT "skipped: %s\n", reason);
        return RUN_SKIPPED;
    }
    snprintf(pair->name, sizeof pair->name, "%s", name);
    pair->outcome = run_pair(folder, hack, pair);
    suite.n_pairs++;
    printf("%s\n", pair->outcome);
    fflush(stdout);
    return strcmp(pair->outcome, "FAILED") == 0;
}

static void print_table(void)
{
    printf("\n%-36s %-20s %-22s %7s %7s\n", "hack", "verdict", "code", "score", "twin's");
    for (size_t i = 0; i < suite.n_pairs; i++) {
        const struct pair *p = &suite.pairs[i];
        printf("%-36s %-20s %-22s %7.3f %7.3f%s%s\n", p->name, p->hack.verdict, p->hack.code,
               p->hack.score, p->twin ? p->twin->grade.score : 0,
               strcmp(p->outcome, "ok") ? "  " : "", strcmp(p->outcome, "ok") ? p->outcome : "");
    }
}

/* --- from begin to end --- */

static int run_all(char **folders, int n)
{
    int failed = 0, done = 0;
    struct world before = world_look(WORLD_ALL, &suite.run.bait);
    kgrade_error error;
    kgrade_options options = run_limits;
    options.tasks = suite.run.tasks;
    options.max_samples = MAX_SAMPLES;
    options.max_seconds = MAX_SECONDS;
    if (kgrade_open(&options, &suite.run.engine, &error)) {
        printf("%s: %s %s\n", error.code, error.message, error.hint);
        return 1;
    }
    suite.run.quiet = world_look(WORLD_ALL, &suite.run.bait);
    for (int i = 0; i < n; i++) {
        cleanup_free char *folder = realpath(folders[i], NULL);
        int result = folder ? run_folder(folder) : 1;
        if (!folder)
            perror(folders[i]);
        failed += result == 1;
        done += result != RUN_SKIPPED;
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

int main(int argc, char **argv)
{
    bool print = argc == 4 && !strcmp(argv[1], "--print");
    char **folders = argv + 1 + print;
    if (argc < 2 || folders[0][0] == '-') {
        fprintf(stderr, "usage: run_hack FOLDER... | --print FOLDER FILE\n");
        return 2;
    }
    cleanup_free char *first = realpath(folders[0], NULL);
    snprintf(suite.run.suite, sizeof suite.run.suite, "%s", first ? dirname(dirname(first)) : ".");
    if (getenv("KGRADE_REDUCED"))
        run_limits.force_reduced = true;
    world_enter();
    run_set_scene(&suite.run);
    int status = RUN_SKIPPED;
    if (print)
        status = print_source(folders[0], folders[1]);
    else if (run_has_device(&suite.run))
        status = run_all(folders, (int)(argv + argc - folders));
    else
        printf("skipped: there is no OpenCL device; install pocl-opencl-icd\n");
    run_clear_scene(&suite.run);
    return status;
}
