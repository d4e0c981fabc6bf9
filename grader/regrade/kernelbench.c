/*
 * KernelBench: a folder of runs.
 *
 *     FOLDER/eval_results.json    one run; or FOLDER/RUN/eval_results.json, or FOLDER/runs/RUN/eval_results.json
 *     .../level_L_problem_P_sample_S_kernel.py
 *     FOLDER/KernelBench/levelL/P_Name.py                       the problems: their names, or without runs entries themselves
 *     FOLDER/baseline.json, results/timing/HARDWARE/NAME.json   times of the reference, optional: where there is exactly one
 *
 * Its problems are Python modules, of which tasks are made where they are there (kernelbench_problem.c).  Without runs the problems are
 * entries themselves, with their own module as the candidate.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "adapters.h"
#include "candidate.h"
#include "figures.h"
#include "files.h"
#include "kernelbench.h"

#define MAX_RESULTS_BYTES (256u << 20)
#define MOST_LEVELS 9u

static const char results_name[] = "eval_results.json";
static const char no_problem[] =
    "The module of its problem, KernelBench/levelN/N_Name.py, is not in the folder.";

struct reading {
    const char *root;
    const struct regrade_sink *sink;
    json_t *baselines; /* {"levelN": {FILE: {"mean"}}}; NULL: unknown */
};

static int read_json(const char *path, json_t **ret, kgrade_error *err)
{
    cleanup_bytes struct bytes text = {0};
    json_error_t where;
    if (regrade_read_file(path, MAX_RESULTS_BYTES, &text, err))
        return -1;
    json_t *json = json_loadb((const char *)text.data, text.size, 0, &where);
    if (!json_is_object(json)) {
        json_decref(json);
        return fail(err, "bad_board", NULL, "%s, line %d: %s.", path, where.line,
                    json ? "no object" : where.text);
    }
    *ret = json;
    return 0;
}

/* --- Problems and baselines --------------------------------------------------------------------- */

/* The file of a problem, as "1_Square.py"; NULL: unknown.  The caller frees. */
static char *problem_file(const char *root, unsigned level, unsigned problem)
{
    cleanup_free char *folder = NULL;
    cleanup_names struct regrade_names list = {0};
    char begin[16];
    if (asprintf(&folder, "%s/KernelBench/level%u", root, level) < 0) {
        folder = NULL; /* which is undefined now */
        return NULL;
    }
    if (!regrade_is_folder(folder) || regrade_names_read(folder, &list, NULL))
        return NULL;
    snprintf(begin, sizeof begin, "%u_", problem);
    for (size_t i = 0; i < list.n; i++)
        if (!strncmp(list.list[i], begin, strlen(begin)))
            return regrade_label(list.list[i]);
    return NULL;
}

/* The baseline's entry for a problem, by its file or, where that is unknown, by its number. */
static const json_t *baseline_of(const json_t *baselines, unsigned level, unsigned problem,
                                 const char *file)
{
    char name[16], begin[16];
    const char *key;
    json_t *value;
    snprintf(name, sizeof name, "level%u", level);
    snprintf(begin, sizeof begin, "%u_", problem);
    json_t *all = json_object_get(baselines, name);
    if (file)
        return json_object_get(all, file);
    json_object_foreach(all, key, value)
    {
        if (!strncmp(key, begin, strlen(begin)))
            return value;
    }
    return NULL;
}

/* The only JSON file in the folders of FOLDER/results/timing; NULL when there is none or a choice.  The caller frees. */
static char *only_timing(const char *root, size_t *ret_n)
{
    cleanup_free char *timing = regrade_path(root, "results/timing"), *found = NULL;
    cleanup_names struct regrade_names machines = {0};
    *ret_n = 0;
    if (!regrade_is_folder(timing) || regrade_names_read(timing, &machines, NULL))
        return NULL;
    for (size_t i = 0; i < machines.n; i++) {
        cleanup_free char *folder = regrade_path(timing, machines.list[i]);
        cleanup_names struct regrade_names files = {0};
        if (!regrade_is_folder(folder) || regrade_names_read(folder, &files, NULL))
            continue;
        for (size_t k = 0; k < files.n; k++) {
            const char *dot = strrchr(files.list[k], '.');
            if (!dot || strcmp(dot, ".json") != 0)
                continue;
            if (++*ret_n == 1)
                found = regrade_path(folder, files.list[k]);
        }
    }
    return *ret_n == 1 ? steal_pointer(&found) : NULL;
}

static int read_baselines(struct reading *r, kgrade_error *err)
{
    cleanup_free char *beside = regrade_path(r->root, "baseline.json");
    size_t n = 0;
    cleanup_free char *only = regrade_is_file(beside) ? NULL : only_timing(r->root, &n);
    const char *path = regrade_is_file(beside) ? beside : only;
    if (path)
        return read_json(path, &r->baselines, err);
    return r->sink->note(
        r->sink->data,
        n ? "There are several files of reference times; put the one that fits the "
            "runs' hardware beside them as baseline.json, or fast_p is unknown."
          : "There are no reference times (baseline.json), so fast_p is unknown.",
        err);
}

/* --- Runs --------------------------------------------------------------------------------------- */

/* One sample of one problem. */
struct sample {
    const char *run, *folder;
    unsigned level, problem, number;
    const json_t *result; /* NULL: it was generated and not evaluated */
};

/* [{"id", "time_ns", "baseline_ns"}]; times are in ms there, and -1 is one that was not taken. */
static json_t *cases_of(const char *problem, double runtime_ms, const json_t *baseline)
{
    double reference = figures_number(json_object_get(baseline, "mean"));
    return json_pack("[{s:s, s:o, s:o}]", "id", problem, "time_ns",
                     runtime_ms > 0 ? json_real(runtime_ms * 1e6) : json_null(), "baseline_ns",
                     reference > 0 ? json_real(reference * 1e6) : json_null());
}

static enum regrade_passed correct_of(const json_t *result)
{
    const json_t *correct = json_object_get(result, "correctness");
    return json_is_boolean(correct) ? json_is_true(correct) ? REGRADE_PASSED : REGRADE_FAILED
                                    : REGRADE_PASS_UNSAID;
}

static int carry(const struct reading *r, unsigned level, unsigned problem, const char *file,
                 struct regrade_carried *ret, kgrade_error *err)
{
    cleanup_free char *path = NULL;
    if (asprintf(&path, "%s/KernelBench/level%u/%s", r->root, level, file) < 0) {
        path = NULL; /* which is undefined now */
        return fail(err, "out_of_memory", NULL, "There is no memory for a problem.");
    }
    return kernelbench_carry(path, level, problem, file, r->sink, ret, err);
}

static int take_sample(const struct reading *r, const struct sample *s, kgrade_error *err)
{
    cleanup_free char *id = NULL, *name = NULL, *board = NULL, *path = NULL;
    cleanup_free char *file = problem_file(r->root, s->level, s->problem);
    cleanup_bytes struct bytes source = {0};
    kgrade_error why = {0};
    char kernel[96], number[32];
    snprintf(kernel, sizeof kernel, "level_%u_problem_%u_sample_%u_kernel.py", s->level, s->problem,
             s->number);
    snprintf(number, sizeof number, "level %u, problem %u", s->level, s->problem);
    path = regrade_path(s->folder, kernel);
    id = s->run ? regrade_path(s->run, kernel) : NULL;
    if (!path || !id || asprintf(&board, "level %u", s->level) < 0) {
        board = NULL; /* which is undefined now */
        return fail(err, "out_of_memory", NULL, "There is no memory for an entry.");
    }
    if (file && asprintf(&name, "level %u, %s", s->level, file) < 0)
        name = NULL;
    enum candidate_read rc =
        regrade_is_file(path) ? candidate_file(path, &source, &why) : CANDIDATE_NONE;
    if (rc == CANDIDATE_FAILED)
        return candidate_pass_on(&why, err);
    struct regrade_carried carried = {.skip_code = "no_task", .skip_message = no_problem};
    if (source.data && file && carry(r, s->level, s->problem, file, &carried, err))
        return -1;
    double runtime = figures_number(json_object_get(s->result, "runtime"));
    json_auto_t *cases = cases_of(name ? name : number, runtime,
                                  baseline_of(r->baselines, s->level, s->problem, file));
    const struct regrade_entry entry = {
        .id = id,
        .board = board,
        .problem = name ? name : number,
        .author = s->run,
        .files = kernel,
        .language = "python",
        .task = carried.task,
        .device = carried.device,
        .hardware =
            json_string_value(json_object_get(json_object_get(s->result, "metadata"), "hardware")),
        .source = (const char *)source.data,
        .source_size = source.size,
        .skip_code = rc == CANDIDATE_BAD    ? why.code
                     : rc == CANDIDATE_READ ? carried.skip_code
                                            : NULL,
        .skip_message = rc == CANDIDATE_BAD ? why.message : carried.skip_message,
        .original = {.value = runtime > 0 ? runtime : NAN,
                     .unit = "ms",
                     .lower_is_better = true,
                     .passed = correct_of(s->result),
                     .cases = cases,
                     .row = s->result},
    };
    return r->sink->take(r->sink->data, &entry, err);
}

/* The level of a run's problem, by the names of its kernels; 0: unknown. */
static unsigned level_of(const struct regrade_names *list, const char *problem)
{
    char middle[48];
    for (size_t i = 0; i < list->n; i++) {
        unsigned level;
        snprintf(middle, sizeof middle, "_problem_%.16s_", problem);
        if (sscanf(list->list[i], "level_%u_", &level) == 1 && level <= MOST_LEVELS &&
            strstr(list->list[i], middle))
            return level;
    }
    return 0;
}

/* Results of one problem: a list, or in older runs a single one. */
static int take_results(const struct reading *r, struct sample *s, json_t *results,
                        kgrade_error *err)
{
    if (json_is_object(results)) {
        s->result = results;
        s->number = 0;
        return take_sample(r, s, err);
    }
    for (size_t i = 0; i < json_array_size(results); i++) {
        s->result = json_array_get(results, i);
        double number = figures_number(json_object_get(s->result, "sample_id"));
        s->number = number >= 0 && number < 1e6 ? (unsigned)number : (unsigned)i;
        if (take_sample(r, s, err))
            return -1;
    }
    return 0;
}

static bool was_evaluated(const json_t *all, unsigned problem, unsigned number)
{
    char key[16];
    snprintf(key, sizeof key, "%u", problem);
    const json_t *results = json_object_get(all, key);
    if (json_is_object(results))
        return number == 0;
    for (size_t i = 0; i < json_array_size(results); i++) {
        double id = figures_number(json_object_get(json_array_get(results, i), "sample_id"));
        if (id >= 0 ? (unsigned)id == number : i == number)
            return true;
    }
    return false;
}

/* Kernels without a result. */
static int take_others(const struct reading *r, const char *run, const char *folder,
                       const struct regrade_names *list, const json_t *all, kgrade_error *err)
{
    for (size_t i = 0; i < list->n; i++) {
        struct sample s = {.run = run, .folder = folder};
        int end = 0;
        if (sscanf(list->list[i], "level_%u_problem_%u_sample_%u_kernel.py%n", &s.level, &s.problem,
                   &s.number, &end) != 3 ||
            !end || list->list[i][end] || was_evaluated(all, s.problem, s.number))
            continue;
        if (take_sample(r, &s, err))
            return -1;
    }
    return 0;
}

static int take_run(const struct reading *r, const char *folder, kgrade_error *err)
{
    cleanup_free char *path = regrade_path(folder, results_name), *name = regrade_last_part(folder);
    cleanup_free char *run = name ? regrade_label(name) : NULL;
    cleanup_names struct regrade_names list = {0};
    json_auto_t *all = NULL;
    const char *problem;
    json_t *results;
    if (!path || !run)
        return fail(err, "out_of_memory", NULL, "There is no memory for a run.");
    if (read_json(path, &all, err) || regrade_names_read(folder, &list, err))
        return -1;
    unsigned usual = list.n ? level_of(&list, "1") : 0;
    json_object_foreach(all, problem, results)
    {
        char *end;
        unsigned long number = strtoul(problem, &end, 10);
        if (*end || !*problem || number > 100000)
            return fail(err, "bad_board", "Its keys are numbers of problems.",
                        "%s has the key \"%.32s\".", path, problem);
        unsigned level = level_of(&list, problem);
        struct sample s = {.run = run,
                           .folder = folder,
                           .level = level   ? level
                                    : usual ? usual
                                            : 1,
                           .problem = (unsigned)number};
        if (take_results(r, &s, results, err))
            return -1;
    }
    return take_others(r, run, folder, &list, all, err);
}

/* Every run in a folder; *ret_n counts them. */
static int take_runs(const struct reading *r, const char *folder, kgrade_error *err)
{
    cleanup_names struct regrade_names list = {0};
    if (regrade_has_file(folder, results_name))
        return take_run(r, folder, err);
    if (regrade_names_read(folder, &list, err))
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        cleanup_free char *inner = regrade_path(folder, list.list[i]);
        if (regrade_is_folder(inner) && regrade_has_file(inner, results_name) &&
            take_run(r, inner, err))
            return -1;
    }
    return 0;
}

static bool has_run(const char *folder)
{
    cleanup_names struct regrade_names list = {0};
    if (!regrade_is_folder(folder))
        return false;
    if (regrade_has_file(folder, results_name))
        return true;
    if (regrade_names_read(folder, &list, NULL))
        return false;
    for (size_t i = 0; i < list.n; i++) {
        cleanup_free char *inner = regrade_path(folder, list.list[i]);
        if (inner && regrade_is_folder(inner) && regrade_has_file(inner, results_name))
            return true;
    }
    return false;
}

/* --- Problems alone ----------------------------------------------------------------------------- */

static int take_problem(const struct reading *r, unsigned level, const char *folder,
                        const char *name, kgrade_error *err)
{
    cleanup_free char *path = regrade_path(folder, name), *label = regrade_label(name), *id = NULL;
    cleanup_bytes struct bytes source = {0};
    kgrade_error why = {0};
    char board[32];
    snprintf(board, sizeof board, "level %u", level);
    if (!path || !label || asprintf(&id, "level%u/%s", level, label) < 0) {
        id = NULL; /* which is undefined now */
        return fail(err, "out_of_memory", NULL, "There is no memory for an entry.");
    }
    enum candidate_read rc = candidate_file(path, &source, &why);
    if (rc == CANDIDATE_FAILED)
        return candidate_pass_on(&why, err);
    struct regrade_carried carried = {.skip_code = why.code, .skip_message = why.message};
    unsigned number = (unsigned)strtoul(name, NULL, 10);
    if (rc == CANDIDATE_READ && carry(r, level, number, name, &carried, err))
        return -1;
    cleanup_free char *candidate =
        rc == CANDIDATE_READ ? kernelbench_candidate((const char *)source.data) : NULL;
    const struct regrade_entry entry = {
        .id = id,
        .board = board,
        .problem = id,
        .files = label,
        .language = "python",
        .task = carried.task,
        .device = carried.device,
        .source = candidate,
        .source_size = candidate ? strlen(candidate) : 0,
        .skip_code = carried.skip_code,
        .skip_message = carried.skip_message,
        .note = "The problem's own reference is the candidate.",
        .original = {.value = NAN, .unit = "ms", .lower_is_better = true},
    };
    return r->sink->take(r->sink->data, &entry, err);
}

/* The references of a checkout without runs. */
static int take_problems(const struct reading *r, kgrade_error *err)
{
    for (unsigned level = 1; level <= MOST_LEVELS; level++) {
        cleanup_free char *folder = NULL;
        cleanup_names struct regrade_names list = {0};
        if (asprintf(&folder, "%s/KernelBench/level%u", r->root, level) < 0)
            folder = NULL; /* which is undefined now */
        if (!regrade_is_folder(folder))
            continue;
        if (regrade_names_read(folder, &list, err))
            return -1;
        for (size_t i = 0; i < list.n; i++) {
            const char *language = regrade_language_of(list.list[i]);
            if (language && !strcmp(language, "python") && regrade_has_file(folder, list.list[i]) &&
                take_problem(r, level, folder, list.list[i], err))
                return -1;
        }
    }
    return 0;
}

static bool has_problems(const char *path)
{
    cleanup_free char *folder = regrade_path(path, "KernelBench/level1");
    return regrade_is_folder(folder);
}

static int read_kernelbench(const char *path, const struct regrade_wishes *wishes,
                            const struct regrade_sink *sink, kgrade_error *err)
{
    (void)wishes;
    cleanup_free char *name = regrade_last_part(path), *runs = regrade_path(path, "runs");
    cleanup_free char *title = name ? regrade_label(name) : NULL;
    json_auto_t *parameters =
        json_pack("{s:[f, f, f, f, f, f]}", "p", 0.0, 0.5, 0.8, 1.0, 1.5, 2.0);
    const struct regrade_source source = {
        .title = title ? title : "KernelBench",
        .rule = "fast_p",
        .rule_parameters = parameters,
        .clock = "Event pairs around single calls in the candidate's process, host time included.",
    };
    struct reading r = {.root = path, .sink = sink};
    const char *folder = regrade_is_folder(runs) ? runs : path;
    int rc = sink->begin(sink->data, &source, err) || read_baselines(&r, err) ||
                     (has_run(folder) ? take_runs(&r, folder, err) : take_problems(&r, err))
                 ? -1
                 : 0;
    json_decref(r.baselines);
    return rc;
}

static bool recognise(const char *path)
{
    cleanup_free char *runs = regrade_path(path, "runs");
    return has_run(path) || has_run(runs) || has_problems(path);
}

const struct regrade_adapter regrade_kernelbench = {"kernelbench", recognise, read_kernelbench};
