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
    if (isnan(o->value)) {
        o->value = figures_number(json_object_get(record, "value"));
        o->unit = json_string_value(json_object_get(record, "unit"));
        enum regrade_passed lower = passed_of(json_object_get(record, "lower_is_better"));
        o->lower_is_better = lower == REGRADE_PASSED ||
                             (lower == REGRADE_PASS_UNSAID && o->unit && strchr("smun", *o->unit));
    }
    o->rule = json_string_value(json_object_get(record, "rule"));
    double rank = figures_number(json_object_get(record, "rank"));
    o->rank = rank >= 1 && rank <= 1e9 ? (unsigned)rank : 0;
    o->passed = passed_of(json_object_get(record, "passed"));
    const json_t *cases = json_object_get(record, "cases");
    o->cases = json_is_array(cases) ? cases : NULL;
}

/* --- Files of figures --------------------------------------------------------------------------- */

static int add_figure(json_t *figures, json_t *record, const char *path, kgrade_error *err)
{
    const char *file = json_string_value(json_object_get(record, "file"));
    if (!file)
        return fail(err, "bad_board", "Each needs \"file\", a name in the folder.",
                    "An entry of %s names no file.", path);
    if (json_object_get(figures, file))
        return fail(err, "bad_board", NULL, "%s has two entries for the file %.200s.", path, file);
    return json_object_set(figures, file, record);
}

static int read_csv(const char *path, json_t *figures, kgrade_error *err)
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

static int read_json(const char *path, json_t *figures, json_t **ret_head, kgrade_error *err)
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
    *ret_head = json_incref(board);
    return 0;
}

int figures_read(const char *folder, json_t *figures, json_t **ret_head, kgrade_error *err)
{
    cleanup_free char *json = regrade_path(folder, "board.json");
    cleanup_free char *csv = regrade_path(folder, "board.csv");
    if (regrade_is_file(json))
        return read_json(json, figures, ret_head, err);
    return regrade_is_file(csv) ? read_csv(csv, figures, err) : 0;
}

/* --- Several files ------------------------------------------------------------------------------ */

static bool is_header(const char *name)
{
    const char *dot = strrchr(name, '.');
    static const char *const headers[] = {".h", ".cuh", ".hpp", ".inc", ".cl"};
    for (size_t i = 0; dot && i < sizeof headers / sizeof headers[0]; i++)
        if (!strcmp(dot, headers[i]))
            return true;
    return false;
}

int figures_pass_on(const kgrade_error *why, kgrade_error *err)
{
    if (err)
        *err = *why;
    return -1;
}

static enum regrade_source_read too_large(kgrade_error *err)
{
    fail_set(err, "source_too_large", NULL, "Its source has more than %u bytes.",
             KGRADE_MAX_SOURCE_BYTES);
    return REGRADE_SOURCE_BAD;
}

static enum regrade_source_read no_memory(kgrade_error *err)
{
    fail_set(err, "out_of_memory", NULL, "There is no memory for a candidate.");
    return REGRADE_SOURCE_FAILED;
}

enum regrade_source_read figures_source(const char *path, struct bytes *ret, kgrade_error *err)
{
    kgrade_error why = {0};
    if (!regrade_read_file(path, KGRADE_MAX_SOURCE_BYTES, ret, &why))
        return REGRADE_SOURCE_READ;
    if (!strcmp(why.code, "file_too_large"))
        return too_large(err);
    figures_pass_on(&why, err);
    return REGRADE_SOURCE_FAILED;
}

struct collection {
    json_t *files; /* {NAME: TEXT} */
    const char *language;
    char *names;
};

static void free_collection(struct collection *c)
{
    json_decref(c->files);
    free(c->names);
}

static enum regrade_source_read add(struct collection *c, const char *folder, const char *name,
                                    kgrade_error *err)
{
    cleanup_free char *path = regrade_path(folder, name), *longer = NULL;
    cleanup_bytes struct bytes text = {0};
    if (!regrade_is_file(path))
        return REGRADE_SOURCE_NONE;
    if (asprintf(&longer, "%s%s%s", c->names ? c->names : "", c->names ? ", " : "", name) < 0) {
        longer = NULL; /* which is undefined now */
        return no_memory(err);
    }
    free(c->names);
    c->names = steal_pointer(&longer);
    enum regrade_source_read rc = figures_source(path, &text, err);
    if (rc != REGRADE_SOURCE_READ)
        return rc;
    if (!json_object_set_new(c->files, name, json_stringn((const char *)text.data, text.size)))
        return REGRADE_SOURCE_READ;
    fail_set(err, "source_not_utf8", NULL, "A file of its source is not UTF-8 text.");
    return REGRADE_SOURCE_BAD;
}

static enum regrade_source_read collect(struct collection *c, const char *folder, kgrade_error *err)
{
    cleanup_names struct regrade_names names = {0};
    if (regrade_names_read(folder, &names, err))
        return REGRADE_SOURCE_FAILED;
    for (size_t i = 0; i < names.n; i++) {
        const char *language = regrade_language_of(names.list[i]);
        if (!language && !is_header(names.list[i]))
            continue;
        enum regrade_source_read rc = add(c, folder, names.list[i], err);
        if (language && !c->language && rc != REGRADE_SOURCE_NONE)
            c->language = language;
        if (rc == REGRADE_SOURCE_BAD || rc == REGRADE_SOURCE_FAILED)
            return rc;
    }
    return c->language ? REGRADE_SOURCE_READ : REGRADE_SOURCE_NONE;
}

/* One file as it is, several as a bundle. */
static enum regrade_source_read bundle(json_t *texts, struct bytes *ret, kgrade_error *err)
{
    size_t n = json_object_size(texts), i = 0;
    cleanup_free kgrade_file *files = calloc(n + 1, sizeof *files);
    json_t *text;
    const char *name;
    char *source = NULL;
    kgrade_error why = {0};
    if (files)
        json_object_foreach(texts, name, text)
        {
            files[i++] = (kgrade_file){name, json_string_value(text), json_string_length(text)};
        }
    if (!files)
        return no_memory(err);
    if (n == 1) {
        source = strndup(files[0].text, files[0].size);
    } else if (kgrade_bundle(files, n, &source, &why)) {
        figures_pass_on(&why, err);
        return strcmp(why.code, "out_of_memory") ? REGRADE_SOURCE_BAD : REGRADE_SOURCE_FAILED;
    }
    if (!source)
        return no_memory(err);
    *ret = (struct bytes){(uint8_t *)source, strlen(source)};
    return ret->size > KGRADE_MAX_SOURCE_BYTES ? too_large(err) : REGRADE_SOURCE_READ;
}

enum regrade_source_read figures_bundle(const char *folder, struct bytes *ret,
                                        const char **ret_language, char **ret_files,
                                        kgrade_error *err)
{
    __attribute__((cleanup(free_collection))) struct collection c = {.files = json_object()};
    enum regrade_source_read rc = collect(&c, folder, err);
    *ret_language = c.language;
    *ret_files = c.names ? regrade_label(c.names) : NULL;
    return rc == REGRADE_SOURCE_READ ? bundle(c.files, ret, err) : rc;
}
