#define _GNU_SOURCE
#include "figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "csv.h"
#include "files.h"

double figures_number(const json_t *json)
{
    if (json_is_number(json))
        return json_number_value(json);
    const char *text = json_string_value(json);
    char *end;
    double value = text && *text ? strtod(text, &end) : NAN;
    return text && *text && !*end && isfinite(value) ? value : NAN;
}

static enum regrade_passed passed_of(const json_t *json)
{
    static const char *const yes[] = {"true", "True", "TRUE",   "yes",
                                      "1",    "pass", "passed", "accepted"};
    static const char *const no[] = {"false", "False", "FALSE",  "no",
                                     "0",     "fail",  "failed", "wrong"};
    const char *text = json_string_value(json);
    if (json_is_boolean(json))
        return json_is_true(json) ? REGRADE_PASSED : REGRADE_FAILED;
    for (size_t i = 0; text && i < sizeof yes / sizeof yes[0]; i++) {
        if (!strcmp(text, yes[i]))
            return REGRADE_PASSED;
        if (!strcmp(text, no[i]))
            return REGRADE_FAILED;
    }
    return REGRADE_PASS_UNSAID;
}

/* Keys that say what a figure is. */
static const struct {
    const char *key, *unit;
    bool lower;
} kinds[] = {
    {"time_s", "s", true},   {"time_ms", "ms", true},     {"time_us", "us", true},
    {"time_ns", "ns", true}, {"speedup", "ratio", false}, {"score", "points", false},
};

/* "value" with its "unit". */
static void take_value(const json_t *record, struct regrade_original *o)
{
    o->unit = json_string_value(json_object_get(record, "unit"));
    enum regrade_passed lower = passed_of(json_object_get(record, "lower_is_better"));
    bool known = !o->unit;
    o->lower_is_better = lower == REGRADE_PASSED;
    for (size_t i = 0; o->unit && i < sizeof kinds / sizeof kinds[0]; i++)
        if (!strcmp(o->unit, kinds[i].unit)) {
            known = true;
            o->lower_is_better |= lower == REGRADE_PASS_UNSAID && kinds[i].lower;
        }
    if (known || lower != REGRADE_PASS_UNSAID)
        o->value = figures_number(json_object_get(record, "value"));
}

void figures_take(const json_t *record, struct regrade_entry *entry)
{
    struct regrade_original *o = &entry->original;
    *o = (struct regrade_original){.value = NAN, .row = record};
    if (!record)
        return;
    const char *author = json_string_value(json_object_get(record, "author"));
    if (author && *author)
        entry->author = author;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && isnan(o->value); i++) {
        o->value = figures_number(json_object_get(record, kinds[i].key));
        if (!isnan(o->value)) {
            o->unit = kinds[i].unit;
            o->lower_is_better = kinds[i].lower;
        }
    }
    if (isnan(o->value))
        take_value(record, o);
    o->rule = json_string_value(json_object_get(record, "rule"));
    double rank = figures_number(json_object_get(record, "rank"));
    o->rank = rank >= 1 && rank <= 1e9 ? (unsigned)rank : 0;
    o->passed = passed_of(json_object_get(record, "passed"));
    const json_t *cases = json_object_get(record, "cases");
    o->cases = json_is_array(cases) ? cases : NULL;
}

/* --- Files of figures --------------------------------------------------------------------------- */

static bool is_said(const json_t *json)
{
    return json && !json_is_null(json) && (!json_is_string(json) || *json_string_value(json));
}

/* The first key of record with a value that figures_take makes nothing of; NULL: there is none. */
static const char *doubtful_key(const json_t *record)
{
    static const char *const numbers[] = {"time_s",  "time_ms", "time_us", "time_ns",
                                          "speedup", "score",   "value",   "rank"};
    struct regrade_entry entry = {0};
    figures_take(record, &entry);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        double number = figures_number(json_object_get(record, numbers[i]));
        bool above = !strncmp(numbers[i], "time", 4) || !strcmp(numbers[i], "rank");
        if (is_said(json_object_get(record, numbers[i])) && !(above ? number > 0 : !isnan(number)))
            return numbers[i];
    }
    if (is_said(json_object_get(record, "value")) && isnan(entry.original.value))
        return "unit";
    return is_said(json_object_get(record, "passed")) &&
                   entry.original.passed == REGRADE_PASS_UNSAID
               ? "passed"
               : NULL;
}

static void count_doubt(struct figures *figures, const char *file, const json_t *record)
{
    const char *key = doubtful_key(record);
    if (!key || figures->doubtful++)
        return;
    cleanup_free char *value =
        json_dumps(json_object_get(record, key), JSON_ENCODE_ANY | JSON_COMPACT);
    figures->doubtful_file = quote(file);
    figures->doubtful_key = key;
    figures->doubtful_value = quote(value);
}

static int add_figure(struct figures *figures, json_t *record, const char *path, kgrade_error *err)
{
    const char *file = json_string_value(json_object_get(record, "file"));
    if (!file)
        return fail(err, "bad_board",
                    "Each needs \"file\", a name in the folder; in board.csv, whose fields commas "
                    "separate, a column.",
                    "Entry %zu of %s names no file.", json_object_size(figures->by_file) + 1, path);
    if (json_object_get(figures->by_file, file))
        return fail(err, "bad_board", "Leave one of them, such as the best.",
                    "%s has two entries for the file %.200s.", path, file);
    if (json_object_set(figures->by_file, file, record))
        return fail(err, "out_of_memory", NULL, "There is no memory for a board.");
    count_doubt(figures, file, record);
    return 0;
}

static int read_csv(const char *path, struct figures *figures, kgrade_error *err)
{
    cleanup_bytes struct bytes text = {0};
    cleanup_csv struct regrade_csv csv = {0};
    if (regrade_read_file(path, REGRADE_MAX_FILE_BYTES, &text, err) ||
        regrade_csv_open((const char *)text.data, text.size, path, &csv, err))
        return -1;
    for (;;) {
        json_auto_t *record = NULL;
        int rc = regrade_csv_next(&csv, &record, err);
        if (rc <= 0)
            return rc;
        if (add_figure(figures, record, path, err))
            return -1;
    }
}

static int read_json(const char *path, struct figures *figures, kgrade_error *err)
{
    cleanup_bytes struct bytes text = {0};
    if (regrade_read_file(path, REGRADE_MAX_FILE_BYTES, &text, err))
        return -1;
    json_error_t where;
    json_auto_t *board =
        json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, &where);
    json_t *entries = json_object_get(board, "entries"), *record;
    size_t i;
    if (!board)
        return fail(err, "bad_board", NULL, "%s, line %d: %s.", path, where.line, where.text);
    if (!json_is_array(entries))
        return fail(err, "bad_board", "It is an object with \"entries\": [{\"file\", ...}].",
                    "%s has no array \"entries\".", path);
    json_array_foreach(entries, i, record)
    {
        if (add_figure(figures, record, path, err))
            return -1;
    }
    json_object_del(board, "entries");
    figures->head = json_incref(board);
    return 0;
}

int figures_read(const char *folder, struct figures *ret, kgrade_error *err)
{
    cleanup_figures struct figures figures = {.by_file = json_object()};
    cleanup_free char *json = regrade_path(folder, "board.json");
    cleanup_free char *csv = regrade_path(folder, "board.csv");
    if (!figures.by_file)
        return fail(err, "out_of_memory", NULL, "There is no memory for a board.");
    if (regrade_is_file(json) ? read_json(json, &figures, err)
                              : regrade_is_file(csv) && read_csv(csv, &figures, err))
        return -1;
    *ret = figures;
    figures = (struct figures){0};
    return 0;
}

int figures_note(const struct figures *figures, const char *board, const struct regrade_sink *sink,
                 kgrade_error *err)
{
    char text[512];
    if (!figures->doubtful)
        return 0;
    snprintf(text, sizeof text,
             "%s: figures that mean nothing here are read as none, in %zu of the board's records. "
             "The first is %s of %s: %s",
             quote(board).text, figures->doubtful, figures->doubtful_key,
             figures->doubtful_file.text, figures->doubtful_value.text);
    return sink->note(sink->data, text, err);
}

void figures_free(struct figures *figures)
{
    json_decref(figures->by_file);
    json_decref(figures->head);
    *figures = (struct figures){0};
}
