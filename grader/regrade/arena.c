/*
 * AgentKernelArena: folders of runs, and what its evaluation says.
 *
 *     FOLDER/task_result.yaml          one task of one run; or FOLDER/TASK/..., or FOLDER/RUN/TASK/...
 *     .../build/performance_report.json and so on      single cases, optional
 *     FOLDER/reports/overall_summary.csv               tasks whose folders are gone
 *     FOLDER/tasks/.../config.yaml     a checkout: its tasks (arena_configs.c)
 *     FILE with lines ARENA_EVAL_RESULT={...}          protocol arena-eval-v1, both roles of one task
 *
 * Its tasks are run by harnesses in Python, most of them for AMD's cards, so its entries are imported with their figures and not
 * graded; with the times of single cases, its score can be made by either of its rules.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "adapters.h"
#include "arena_configs.h"
#include "csv.h"
#include "figures.h"
#include "files.h"
#include "yaml.h"

#define MAX_REPORT_BYTES (64u << 20)
#define FIRST_BYTES (1u << 20)

static const char result_name[] = "task_result.yaml";
static const char summary_name[] = "reports/overall_summary.csv";
static const char line_begin[] = "ARENA_EVAL_RESULT=";

const char arena_needs_python[] =
    "Its task is run by a harness in Python, which is not graded yet; its figures are imported.";
const char arena_needs_amd[] = "Its task is for AMD's cards (HIP or FlyDSL), which no device here "
                               "measures; its figures are imported.";

bool arena_is_for_amd(const char *text)
{
    static const char *const words[] = {"flydsl", "hip", "FlyDSL", "HIP", "gfx"};
    for (size_t i = 0; text && i < sizeof words / sizeof words[0]; i++)
        if (strstr(text, words[i]))
            return true;
    return false;
}

/* --- Single cases ------------------------------------------------------------------------------- */

/* In ms, by the first key that has a time; NaN: none.  What was timed by the host's clock alone is not taken. */
static double time_of(const json_t *one)
{
    static const char *const in_ms[] = {"device_time_ms",     "gpu_time_ms",
                                        "kernel_time_ms",     "cuda_event_time_ms",
                                        "cuda_graph_time_ms", "execution_time_ms"};
    static const char *const others[] = {"execution_time", "time_ms", "time"};
    static const char *const of_timing[] = {"mean", "median", "min"};
    for (size_t i = 0; i < sizeof in_ms / sizeof in_ms[0]; i++) {
        double value = figures_number(json_object_get(one, in_ms[i]));
        if (!isnan(value))
            return value;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        double value = figures_number(json_object_get(one, others[i]));
        if (!isnan(value)) /* as the arena reads them */
            return value >= 1000 && !strstr(others[i], "_ms") ? value * 1000 : value;
    }
    double value = NAN;
    for (size_t i = 0; i < sizeof of_timing / sizeof of_timing[0] && isnan(value); i++)
        value = figures_number(json_object_get(json_object_get(one, "timing_ms"), of_timing[i]));
    return value;
}

static json_t *in_ns(double ms)
{
    return ms > 0 ? json_real(ms * 1e6) : json_null();
}

/* What names a case. */
static char *name_of(const json_t *one, size_t index)
{
    static const char *const keys[] = {"test_case_id", "params", "shape"};
    char *name = NULL;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const json_t *value = json_object_get(one, keys[i]);
        if (json_is_string(value))
            return strdup(json_string_value(value));
        if (value && !json_is_null(value))
            return json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    }
    return asprintf(&name, "case %zu", index + 1) < 0 ? NULL : name;
}

static int add_case(json_t *cases, const char *name, double time_ms, double baseline_ms,
                    const json_t *method)
{
    json_t *one = json_pack("{s:s, s:o, s:o}", "id", name, "time_ns", in_ns(time_ms), "baseline_ns",
                            in_ns(baseline_ms));
    if (json_is_string(method))
        json_object_set_new(one, "method", json_string(json_string_value(method)));
    return json_array_append_new(cases, one);
}

/* The cases of a report: a list, {"test_cases": []} or one object. */
static void take_report(json_t *report, json_t *cases)
{
    json_t *list = json_is_object(report) ? json_object_get(report, "test_cases") : report;
    json_auto_t *alone = NULL;
    if (!json_is_array(list) && json_is_object(report))
        list = alone = json_pack("[O]", report);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        cleanup_free char *name = name_of(one, i);
        double before = figures_number(json_object_get(one, "ori_time")),
               after = figures_number(json_object_get(one, "opt_time"));
        double time = isnan(after) ? time_of(one) : after;
        if (name && !isnan(time))
            add_case(cases, name, time, before, json_object_get(one, "benchmark_method"));
    }
}

/* The first report of a task's folder that has cases. */
static void take_reports(const char *folder, json_t *cases)
{
    static const char *const names[] = {"build/performance_report.json", "performance_report.json",
                                        "build/perf_report.json", "perf_report.json",
                                        "perf/benchmark_results.json"};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !json_array_size(cases); i++) {
        cleanup_free char *path = regrade_path(folder, names[i]);
        cleanup_bytes struct bytes text = {0};
        if (!regrade_is_file(path) || regrade_read_file(path, MAX_REPORT_BYTES, &text, NULL))
            continue;
        json_auto_t *report = json_loadb((const char *)text.data, text.size, 0, NULL);
        take_report(report, cases);
    }
}

/* --- Runs --------------------------------------------------------------------------------------- */

struct reading {
    const struct regrade_sink *sink;
    const char *board; /* its score is a sum over all tasks, so they are problems of one board */
    json_t *tasks;     /* names that were delivered of the run: {} */
};

static enum regrade_passed passed_of(const json_t *result)
{
    const json_t *compiled = json_object_get(result, "pass_compilation"),
                 *right = json_object_get(result, "pass_correctness");
    if (json_is_false(compiled) || json_is_false(right))
        return REGRADE_FAILED;
    return json_is_true(right) ? REGRADE_PASSED : REGRADE_PASS_UNSAID;
}

static int deliver(const struct reading *r, const char *id, const char *run, const char *task,
                   const char *type, const json_t *cases, const json_t *row,
                   enum regrade_passed passed, kgrade_error *err)
{
    bool amd = arena_is_for_amd(type) || arena_is_for_amd(task);
    const struct regrade_entry entry = {
        .id = id,
        .board = r->board,
        .problem = task,
        .author = run,
        .language = "python",
        .skip_code = amd ? "needs_amd" : "needs_python",
        .skip_message = amd ? arena_needs_amd : arena_needs_python,
        .original = {.value = figures_number(json_object_get(row, "score")),
                     .unit = "points",
                     .passed = passed,
                     .cases = json_array_size(cases) ? cases : NULL,
                     .row = row},
    };
    return r->sink->take(r->sink->data, &entry, err);
}

/* One task of a run: its folder has a result. */
static int take_task(const struct reading *r, const char *run, const char *folder, const char *name,
                     kgrade_error *err)
{
    cleanup_free char *path = regrade_path(folder, result_name), *id = NULL;
    cleanup_free char *label = regrade_label(name), *author = regrade_label(run);
    json_auto_t *result = NULL, *cases = json_array();
    if (!label || !author || asprintf(&id, "%s/%s", author, label) < 0) {
        id = NULL; /* which is undefined now */
        return fail(err, "out_of_memory", NULL, "There is no memory for an entry.");
    }
    if (regrade_read_yaml(path, &result, err))
        return -1;
    const char *task = json_string_value(json_object_get(result, "task_name"));
    const char *type = json_string_value(json_object_get(result, "task_type"));
    take_reports(folder, cases);
    if (!json_array_size(cases))
        add_case(cases, "mean of all cases",
                 figures_number(json_object_get(result, "best_optimized_execution_time")),
                 figures_number(json_object_get(result, "base_execution_time")), NULL);
    if (task)
        json_object_set_new(r->tasks, task, json_true());
    return deliver(r, id, author, task ? task : label, type, cases, result, passed_of(result), err);
}

/* What the summary knows beyond the folders. */
static int take_summary(const struct reading *r, const char *run, const char *folder,
                        kgrade_error *err)
{
    cleanup_free char *path = regrade_path(folder, summary_name), *author = regrade_label(run);
    cleanup_bytes struct bytes text = {0};
    cleanup_csv struct regrade_csv csv = {0};
    if (!regrade_is_file(path))
        return 0;
    if (regrade_read_file(path, MAX_REPORT_BYTES, &text, err) ||
        regrade_csv_open((const char *)text.data, text.size, path, &csv, err))
        return -1;
    for (;;) {
        json_auto_t *record = NULL;
        cleanup_free char *id = NULL;
        int rc = regrade_csv_next(&csv, &record, err);
        if (rc <= 0)
            return rc;
        const char *task = json_string_value(json_object_get(record, "Task Name"));
        if (!task || json_object_get(r->tasks, task))
            continue;
        if (!author || asprintf(&id, "%s/%s", author, task) < 0) {
            id = NULL; /* which is undefined now */
            return fail(err, "out_of_memory", NULL, "There is no memory for an entry.");
        }
        json_object_set(record, "score", json_object_get(record, "Score"));
        json_object_set_new(r->tasks, task, json_true());
        if (deliver(r, id, author, task, json_string_value(json_object_get(record, "Task Type")),
                    NULL, record, REGRADE_PASS_UNSAID, err))
            return -1;
    }
}

static bool is_run(const char *folder)
{
    cleanup_names struct regrade_names list = {0};
    if (!regrade_is_folder(folder))
        return false;
    if (regrade_has_file(folder, summary_name))
        return true;
    if (regrade_names_read(folder, &list, NULL))
        return false;
    for (size_t i = 0; i < list.n; i++) {
        cleanup_free char *inner = regrade_path(folder, list.list[i]);
        if (inner && regrade_is_folder(inner) && regrade_has_file(inner, result_name))
            return true;
    }
    return false;
}

static int take_run(const struct reading *all, const char *folder, kgrade_error *err)
{
    cleanup_names struct regrade_names list = {0};
    cleanup_free char *run = regrade_last_part(folder);
    json_auto_t *tasks = json_object();
    const struct reading r = {all->sink, all->board, tasks};
    if (!run || !tasks)
        return fail(err, "out_of_memory", NULL, "There is no memory for a run.");
    if (regrade_names_read(folder, &list, err))
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        cleanup_free char *inner = regrade_path(folder, list.list[i]);
        if (inner && regrade_is_folder(inner) && regrade_has_file(inner, result_name) &&
            take_task(&r, run, inner, list.list[i], err))
            return -1;
    }
    return take_summary(&r, run, folder, err);
}

/* --- Lines of its evaluation -------------------------------------------------------------------- */

/* Adds the cases of one line to its side. */
static void take_line(const json_t *result, json_t *sides)
{
    const char *role = json_string_value(json_object_get(result, "role")),
               *action = json_string_value(json_object_get(result, "action"));
    if (!role || !action || strcmp(action, "performance") != 0)
        return;
    json_object_set(sides, role, json_object_get(result, "cases"));
}

static const json_t *same_case(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        cleanup_free char *other = name_of(json_array_get(list, i), i);
        if (other && !strcmp(other, name))
            return json_array_get(list, i);
    }
    return NULL;
}

/* Pairs of what candidate and baseline took, also of what only one has, which no rule overlooks; a method that differs says so. */
static json_t *pair_cases(const json_t *sides)
{
    const json_t *candidate = json_object_get(sides, "candidate"),
                 *baseline = json_object_get(sides, "baseline");
    json_t *cases = json_array();
    for (size_t i = 0; i < json_array_size(baseline); i++) {
        const json_t *one = json_array_get(baseline, i);
        cleanup_free char *name = name_of(one, i);
        if (name && !same_case(candidate, name))
            add_case(cases, name, NAN, time_of(one), json_object_get(one, "benchmark_method"));
    }
    for (size_t i = 0; i < json_array_size(candidate); i++) {
        const json_t *one = json_array_get(candidate, i), *other = NULL;
        cleanup_free char *name = name_of(one, i);
        if (!name)
            continue;
        other = same_case(baseline, name);
        const json_t *a = json_object_get(one, "benchmark_method"),
                     *b = json_object_get(other, "benchmark_method");
        json_auto_t *mixed = json_string("mixed");
        add_case(cases, name, time_of(one), time_of(other), json_equal(a, b) ? a : mixed);
    }
    return cases;
}

static int read_lines(const char *path, const struct reading *r, kgrade_error *err)
{
    cleanup_file FILE *file = fopen(path, "re");
    cleanup_free char *line = NULL, *last = regrade_last_part(path);
    cleanup_free char *label = last ? regrade_label(last) : NULL;
    json_auto_t *sides = json_object(), *all = json_array();
    size_t room = 0, size;
    enum regrade_passed passed = REGRADE_PASS_UNSAID;
    int rc;
    if (!file || !label)
        return fail_errno(err, "file_unreadable", NULL, "Cannot read %s", path);
    while ((rc = regrade_read_line(file, path, &line, &room, &size, err)) > 0) {
        if (strncmp(line, line_begin, strlen(line_begin)) != 0)
            continue;
        json_error_t where;
        json_auto_t *result = json_loads(line + strlen(line_begin), 0, &where);
        if (!json_is_object(result))
            return fail(err, "bad_board", NULL, "A result in %s is no JSON: %s.", path,
                        result ? "no object" : where.text);
        json_array_append(all, result);
        const char *role = json_string_value(json_object_get(result, "role")),
                   *status = json_string_value(json_object_get(result, "status"));
        if (role && status && !strcmp(role, "candidate") && passed != REGRADE_FAILED)
            passed = strcmp(status, "PASS") ? REGRADE_FAILED : REGRADE_PASSED;
        take_line(result, sides);
    }
    if (rc < 0)
        return -1;
    json_auto_t *cases = pair_cases(sides), *row = json_pack("{s:O}", "results", all);
    return deliver(r, label, NULL, label, NULL, cases, row, passed, err);
}

static bool has_lines(const char *path)
{
    cleanup_file FILE *file = regrade_is_file(path) ? fopen(path, "re") : NULL;
    cleanup_free char *text = calloc(1, FIRST_BYTES + 1);
    if (!file || !text)
        return false;
    size_t size = fread(text, 1, FIRST_BYTES, file);
    return memmem(text, size, line_begin, strlen(line_begin)) != NULL;
}

/* --- The adapter -------------------------------------------------------------------------------- */

static int read_arena(const char *path, const struct regrade_wishes *wishes,
                      const struct regrade_sink *sink, kgrade_error *err)
{
    (void)wishes;
    cleanup_free char *name = regrade_last_part(path);
    cleanup_free char *title = name ? regrade_label(name) : NULL;
    json_auto_t *tasks = json_object();
    const struct reading r = {sink, title ? title : "AgentKernelArena", tasks};
    const struct regrade_source source = {
        .title = r.board,
        .rule = "arena",
        .clock =
            "Single runs of the task's own harness, baseline and candidate at different times.",
    };
    cleanup_names struct regrade_names list = {0};
    if (sink->begin(sink->data, &source, err))
        return -1;
    if (regrade_is_file(path))
        return read_lines(path, &r, err);
    if (is_run(path))
        return take_run(&r, path, err);
    if (arena_has_configs(path))
        return arena_take_configs(path, r.board, sink, err);
    if (regrade_has_file(path, result_name))
        return take_task(&r, "run", path, name ? name : "task", err);
    if (regrade_names_read(path, &list, err))
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        cleanup_free char *inner = regrade_path(path, list.list[i]);
        if (inner && is_run(inner) && take_run(&r, inner, err))
            return -1;
    }
    return 0;
}

static bool recognise(const char *path)
{
    cleanup_names struct regrade_names list = {0};
    if (!regrade_is_folder(path))
        return has_lines(path);
    if (is_run(path) || regrade_has_file(path, result_name) || arena_has_configs(path))
        return true;
    if (regrade_names_read(path, &list, NULL))
        return false;
    for (size_t i = 0; i < list.n; i++) {
        cleanup_free char *inner = regrade_path(path, list.list[i]);
        if (inner && is_run(inner))
            return true;
    }
    return false;
}

const struct regrade_adapter regrade_arena = {"arena", recognise, read_arena};
