/*
 * flashinfer-bench: traces of solutions.
 *
 *     FOLDER/traces/.../NAME.jsonl        records of single runs: definition, solution, workload, evaluation
 *     FOLDER/solutions/.../NAME.json      who wrote a solution, and in what, optional
 *     FILE.jsonl                          such records alone
 *
 * The runs of one solution for one definition are an entry, their workloads its cases.  Definitions are Python, so entries are
 * imported with their figures and not graded.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "adapters.h"
#include "figures.h"
#include "files.h"

#define MOST_LEVELS 8u
#define MAX_SOLUTION_BYTES (64u << 20)
#define FIRST_BYTES (1u << 20)

static const char needs_python[] = "It is called from Python, for a definition whose reference is "
                                   "Python, too; these are not graded "
                                   "yet.";

struct reading {
    const char *
        title; /* of the boards, one for each kind of hardware: their figure is a mean over the definitions */
    json_t *entries;   /* by "DEFINITION/SOLUTION", or "DEFINITION/SOLUTION, HARDWARE" */
    json_t *solutions; /* by name: {"author", "language"} */
};

typedef int taker(struct reading *r, const char *path, kgrade_error *err);

static const char *text_of(const json_t *record, const char *key)
{
    return json_string_value(json_object_get(record, key));
}

/* --- Records ------------------------------------------------------------------------------------ */

/* The entry that a record is of, made where it is new. */
static json_t *entry_of(const struct reading *r, const json_t *record, const char *hardware,
                        kgrade_error *err)
{
    const char *definition = text_of(record, "definition"), *solution = text_of(record, "solution");
    cleanup_free char *key = NULL;
    if (!definition || !solution) {
        fail_set(err, "bad_board", NULL, "A trace names no definition or no solution.");
        return NULL;
    }
    if (asprintf(&key, "%s/%s%s%s", definition, solution, hardware ? ", " : "",
                 hardware ? hardware : "") < 0) {
        key = NULL; /* which is undefined now */
        fail_set(err, "out_of_memory", NULL, "There is no memory for an entry.");
        return NULL;
    }
    json_t *entry = json_object_get(r->entries, key);
    if (entry)
        return entry;
    entry = json_pack("{s:s, s:s, s:s*, s:[], s:{}}", "definition", definition, "solution",
                      solution, "hardware", hardware, "cases", "statuses");
    json_object_set_new(r->entries, key, entry);
    return entry;
}

static json_t *in_ns(double ms)
{
    return ms > 0 ? json_real(ms * 1e6) : json_null();
}

static int take_record(void *data, json_t *record, kgrade_error *err)
{
    struct reading *r = data;
    const json_t *evaluation = json_object_get(record, "evaluation");
    if (!json_is_object(evaluation))
        return 0; /* a workload that was not run */
    const json_t *performance = json_object_get(evaluation, "performance");
    const char *id = text_of(json_object_get(record, "workload"), "uuid"),
               *status = text_of(evaluation, "status"),
               *hardware = text_of(json_object_get(evaluation, "environment"), "hardware");
    json_t *entry = entry_of(r, record, hardware, err);
    if (!entry)
        return -1;
    json_t *one =
        json_pack("{s:s, s:o, s:o}", "id", id ? id : "?", "time_ns",
                  in_ns(figures_number(json_object_get(performance, "latency_ms"))), "baseline_ns",
                  in_ns(figures_number(json_object_get(performance, "reference_latency_ms"))));
    json_array_append_new(json_object_get(entry, "cases"), one);
    json_t *statuses = json_object_get(entry, "statuses");
    status = status ? status : "?";
    json_object_set_new(statuses, status,
                        json_integer(json_integer_value(json_object_get(statuses, status)) + 1));
    double factor = figures_number(json_object_get(performance, "speedup_factor"));
    if (!isnan(factor)) {
        double sum = json_number_value(json_object_get(entry, "factors")),
               n = json_number_value(json_object_get(entry, "timed"));
        json_object_set_new(entry, "factors", json_real(sum + factor));
        json_object_set_new(entry, "timed", json_real(n + 1));
    }
    return 0;
}

static int take_traces(struct reading *r, const char *path, kgrade_error *err)
{
    cleanup_file FILE *file = fopen(path, "re");
    return file ? regrade_read_records(file, path, take_record, r, err)
                : fail_errno(err, "file_unreadable", NULL, "Cannot read %s", path);
}

/* A solution that cannot be read is only not known better. */
static int take_solution(struct reading *r, const char *path, kgrade_error *err)
{
    (void)err;
    cleanup_bytes struct bytes text = {0};
    if (regrade_read_file(path, MAX_SOLUTION_BYTES, &text, NULL))
        return 0;
    json_auto_t *solution = json_loadb((const char *)text.data, text.size, 0, NULL);
    const char *name = text_of(solution, "name"), *author = text_of(solution, "author"),
               *language = text_of(json_object_get(solution, "spec"), "language");
    if (name)
        json_object_set_new(r->solutions, name,
                            json_pack("{s:s?, s:s?}", "author", author, "language", language));
    return 0;
}

/* Calls take for every file below whose name ends so. */
static int walk(struct reading *r, const char *folder, const char *end, unsigned level, taker *take,
                kgrade_error *err)
{
    cleanup_names struct regrade_names list = {0};
    if (level > MOST_LEVELS || !regrade_is_folder(folder))
        return 0;
    if (regrade_names_read(folder, &list, err))
        return -1;
    for (size_t i = 0; i < list.n; i++) {
        cleanup_free char *path = regrade_path(folder, list.list[i]);
        const char *dot = strrchr(list.list[i], '.');
        if (regrade_is_folder(path) ? walk(r, path, end, level + 1, take, err)
            : regrade_is_file(path) && dot && !strcmp(dot, end) ? take(r, path, err)
                                                                : 0)
            return -1;
    }
    return 0;
}

/* --- Delivering --------------------------------------------------------------------------------- */

static int deliver(const struct reading *r, const char *id, json_t *entry,
                   const struct regrade_sink *sink, kgrade_error *err)
{
    const char *definition = text_of(entry, "definition"), *name = text_of(entry, "solution");
    const json_t *solution = json_object_get(r->solutions, name);
    const json_t *statuses = json_object_get(entry, "statuses");
    const char *author = text_of(solution, "author"), *language = text_of(solution, "language"),
               *hardware = text_of(entry, "hardware");
    cleanup_free char *board = NULL;
    if (asprintf(&board, "%s%s%s", r->title, hardware ? ", " : "", hardware ? hardware : "") < 0) {
        board = NULL; /* which is undefined now */
        return fail(err, "out_of_memory", NULL, "There is no memory for an entry.");
    }
    double timed = json_number_value(json_object_get(entry, "timed"));
    bool passed = json_object_size(statuses) == 1 && json_object_get(statuses, "PASSED");
    json_auto_t *row = json_pack("{s:s, s:s, s:O}", "definition", definition, "solution", name,
                                 "statuses", json_object_get(entry, "statuses"));
    const struct regrade_entry e = {
        .id = id,
        .board = board,
        .problem = definition,
        .author = author ? author : name,
        .files = name,
        .language = language ? language : "python",
        .hardware = hardware,
        .skip_code = "needs_python",
        .skip_message = needs_python,
        .original = {.value = timed > 0
                                  ? json_number_value(json_object_get(entry, "factors")) / timed
                                  : NAN,
                     .unit = "ratio",
                     .passed = passed ? REGRADE_PASSED : REGRADE_FAILED,
                     .cases = json_object_get(entry, "cases"),
                     .row = row},
    };
    return sink->take(sink->data, &e, err);
}

static int read_all(struct reading *r, const char *path, const struct regrade_sink *sink,
                    kgrade_error *err)
{
    cleanup_free char *traces = regrade_path(path, "traces"),
                      *solutions = regrade_path(path, "solutions");
    if (regrade_is_file(path) ? take_traces(r, path, err)
                              : walk(r, traces, ".jsonl", 1, take_traces, err) ||
                                    walk(r, solutions, ".json", 1, take_solution, err))
        return -1;
    const char *id;
    json_t *entry;
    json_object_foreach(r->entries, id, entry)
    {
        if (deliver(r, id, entry, sink, err))
            return -1;
    }
    return 0;
}

static int read_flashinfer(const char *path, const struct regrade_wishes *wishes,
                           const struct regrade_sink *sink, kgrade_error *err)
{
    (void)wishes;
    cleanup_free char *name = regrade_last_part(path);
    cleanup_free char *title = name ? regrade_label(name) : NULL;
    const struct regrade_source source = {
        .title = title ? title : "flashinfer-bench",
        .rule = "speedup_factor",
        .clock = "CUPTI's kernel times where it was there, else event pairs; the traces do not say "
                 "which.",
    };
    struct reading r = {source.title, json_object(), json_object()};
    int rc = !r.entries || !r.solutions
                 ? fail(err, "out_of_memory", NULL, "There is no memory for a board.")
                 : 0;
    rc = rc || sink->begin(sink->data, &source, err) || read_all(&r, path, sink, err) ? -1 : 0;
    json_decref(r.entries);
    json_decref(r.solutions);
    return rc;
}

/* 1, which ends a walk, when the first record is a trace. */
static int look(struct reading *r, const char *path, kgrade_error *err)
{
    (void)r;
    (void)err;
    cleanup_file FILE *file = fopen(path, "re");
    cleanup_free char *text = calloc(1, FIRST_BYTES + 1);
    if (!file || !text)
        return 0;
    text[fread(text, 1, FIRST_BYTES, file)] = 0;
    text[strcspn(text, "\n")] = 0;
    return strstr(text, "\"definition\"") && strstr(text, "\"workload\"") &&
           strstr(text, "\"evaluation\"");
}

static bool recognise(const char *path)
{
    cleanup_free char *traces = regrade_path(path, "traces");
    const char *dot = strrchr(path, '.');
    if (regrade_is_file(path))
        return dot && !strcmp(dot, ".jsonl") && look(NULL, path, NULL);
    return traces && walk(NULL, traces, ".jsonl", 1, look, NULL) != 0;
}

const struct regrade_adapter regrade_flashinfer = {"flashinfer", recognise, read_flashinfer};
