/* GPU MODE: exports of submissions, records with "submission_id" and "code" of either of the two schemas. */
#define _GNU_SOURCE
#include "gpumode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "csv.h"
#include "figures.h"
#include "files.h"
#include "parquet.h"
#include "problem.h"

#define FIRST_BYTES (64u << 10)

struct export
{
    const struct regrade_sink *sink;
    const struct regrade_wishes *wishes;
    const char *path;
    uint64_t other_modes; /* rows of test runs and the like, which no board ranks */
    uint64_t no_times;
};

static const char *text_of(const json_t *record, const char *key)
{
    const char *text = json_string_value(json_object_get(record, key));
    return text && *text ? text : NULL;
}

/* A number or a text as text; the caller frees. */
static char *any_text(const json_t *record, const char *key)
{
    const json_t *value = json_object_get(record, key);
    if (json_is_string(value))
        return strdup(json_string_value(value));
    return json_is_number(value) ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17))
                                 : NULL;
}

/* The first of several keys: the schemas name things differently. */
static const json_t *first_of(const json_t *record, const char *a, const char *b)
{
    const json_t *value = json_object_get(record, a);
    return value && !json_is_null(value) ? value : json_object_get(record, b);
}

static enum regrade_passed passed_of(const json_t *value)
{
    const char *text = json_string_value(value);
    if (json_is_boolean(value))
        return json_is_true(value) ? REGRADE_PASSED : REGRADE_FAILED;
    if (!text)
        return REGRADE_PASS_UNSAID;
    return !strcasecmp(text, "true") || !strcmp(text, "1") ? REGRADE_PASSED : REGRADE_FAILED;
}

static bool is_ranked(const json_t *record)
{
    const char *mode = json_string_value(first_of(record, "mode", "run_mode"));
    return !mode || !*mode || !strcmp(mode, "leaderboard");
}

/* Old exports keep the code as hexadecimal bytes, \x first. */
static char *decode(const char *code, size_t *ret_size)
{
    size_t length = code ? strlen(code) : 0;
    if (length < 2 || strncmp(code, "\\x", 2) != 0 ||
        strspn(code + 2, "0123456789abcdefABCDEF") != length - 2)
        return NULL;
    char *text = malloc(length / 2), *to = text;
    for (const char *c = code + 2; text && c[0] && c[1]; c += 2) {
        char pair[3] = {c[0], c[1], 0};
        *to++ = (char)strtoul(pair, NULL, 16);
    }
    if (text) {
        *to = 0;
        *ret_size = (size_t)(to - text);
    }
    return text;
}

/* "leaderboard 595" where the problem has no name. */
static char *problem_of(const json_t *record)
{
    char *name = any_text(record, "problem_name");
    if (name && *name)
        return name;
    free(name);
    cleanup_free char *number = any_text(record, "leaderboard_id");
    return number && asprintf(&name, "leaderboard %s", number) >= 0 ? name : strdup("leaderboard");
}

/* Each kind of hardware has a ranking of its own. */
static char *board_of(const char *problem, const char *runner)
{
    char *board = NULL;
    int rc = runner ? asprintf(&board, "%s, %s", problem, runner) : asprintf(&board, "%s", problem);
    return rc < 0 ? NULL : board;
}

static char *id_of(const json_t *record)
{
    char *id = NULL;
    cleanup_free char *submission = any_text(record, "submission_id");
    cleanup_free char *run = any_text(record, "run_id");
    const char *runner = text_of(record, "runner"), *second = run ? run : runner;
    if (!submission ||
        asprintf(&id, "%s%s%s", submission, second ? "/" : "", second ? second : "") < 0)
        return NULL;
    return id;
}

/* No time is 0 or less: such rows led boards by a fault. */
static double score_of(struct export *e, const json_t *record)
{
    double score = figures_number(first_of(record, "score", "run_score"));
    if (isfinite(score) && score > 0)
        return score;
    e->no_times++;
    return NAN;
}

/* Whether there is a task that a checkout's problem was made. */
static struct regrade_carried carried_of(const struct export *e, const char *runner,
                                         const char *task)
{
    if (gpumode_is_amd(runner))
        return (struct regrade_carried){.skip_code = "needs_amd",
                                        .skip_message = "It was run on a card of AMD's."};
    if (e->wishes->task || (task && regrade_find_task(e->wishes, task)))
        return (struct regrade_carried){.task = e->wishes->task ? e->wishes->task : task};
    return (struct regrade_carried){
        .skip_code = "no_task",
        .skip_message = "No task is made of its problem yet: name the checkout that has it before "
                        "the export.",
    };
}

static int take_record(void *data, json_t *record, kgrade_error *err)
{
    struct export *e = data;
    if (!is_ranked(record)) {
        e->other_modes++;
        return 0;
    }
    const char *runner = text_of(record, "runner");
    cleanup_free char *id = id_of(record), *problem = problem_of(record), *decoded = NULL;
    cleanup_free char *board = problem ? board_of(problem, runner) : NULL;
    cleanup_free char *user = any_text(record, "user_id");
    if (!board)
        return fail(err, "out_of_memory", NULL, "There is no memory for an entry.");
    if (!id)
        return fail(err, "bad_board", "An export has a column \"submission_id\".",
                    "A record of %s has no submission_id.", e->path);
    json_t *code = json_object_get(record, "code");
    size_t size = json_string_length(code);
    decoded = decode(json_string_value(code), &size);
    const char *source = decoded ? decoded : json_string_value(code);
    const char *name = text_of(record, "user_name"), *file = text_of(record, "file_name");
    /* The code is in the file that was read; it would double the database. */
    json_auto_t *row = json_copy(record);
    json_object_del(row, "code");
    cleanup_free char *task = regrade_task_name(GPUMODE_PREFIX, problem);
    const struct regrade_carried carried = carried_of(e, runner, task);
    struct regrade_entry entry = {
        .id = id,
        .board = board,
        .problem = problem,
        .author = name ? name : user,
        .files = file,
        .language = "python",
        .task = carried.task,
        .hardware = runner,
        .source = source,
        .source_size = size,
        .skip_code = carried.skip_code,
        .skip_message = carried.skip_message,
        .original = {.value = score_of(e, record),
                     .unit = "s",
                     .lower_is_better = true,
                     .passed = passed_of(first_of(record, "passed", "run_passed")),
                     .row = row},
    };
    return e->sink->take(e->sink->data, &entry, err);
}

static int read_jsonl(struct export *e, kgrade_error *err)
{
    cleanup_file FILE *file = fopen(e->path, "re");
    return file ? regrade_read_records(file, e->path, take_record, e, err)
                : fail_errno(err, "file_unreadable", NULL, "Cannot read %s", e->path);
}

static int read_csv(struct export *e, kgrade_error *err)
{
    cleanup_bytes struct bytes text = {0};
    cleanup_csv struct regrade_csv csv = {0};
    if (regrade_read_file(e->path, REGRADE_MAX_FILE_BYTES, &text, err) ||
        regrade_csv_open((const char *)text.data, text.size, e->path, &csv, err))
        return -1;
    for (;;) {
        json_auto_t *record = NULL;
        int rc = regrade_csv_next(&csv, &record, err);
        if (rc <= 0)
            return rc;
        if (take_record(e, record, err))
            return -1;
    }
}

static int read_parquet(struct export *e, kgrade_error *err)
{
    struct parquet parquet;
    if (parquet_open(e->path, &parquet, err))
        return -1;
    int rc = regrade_read_records(parquet.lines, e->path, take_record, e, err);
    return parquet_close(&parquet, rc == 0 ? err : NULL) || rc ? -1 : 0;
}

static int add_note(const struct regrade_sink *sink, uint64_t n, const char *text,
                    kgrade_error *err)
{
    char note[256];
    if (!n)
        return 0;
    snprintf(note, sizeof note, "%s: %llu.", text, (unsigned long long)n);
    return sink->note(sink->data, note, err);
}

int gpumode_read_export(const char *path, const struct regrade_wishes *wishes,
                        const struct regrade_sink *sink, kgrade_error *err)
{
    struct export e = {.sink = sink, .wishes = wishes, .path = path};
    cleanup_free char *name = regrade_last_part(path);
    cleanup_free char *title = name ? regrade_label(name) : NULL;
    const struct regrade_source source = {.title = title ? title : "GPU MODE", .rule = "geom"};
    if (sink->begin(sink->data, &source, err))
        return -1;
    int rc = gpumode_ends_with(path, ".parquet") ? read_parquet(&e, err)
             : gpumode_ends_with(path, ".csv")   ? read_csv(&e, err)
                                                 : read_jsonl(&e, err);
    return rc ||
                   add_note(sink, e.other_modes,
                            "Rows of runs that no board ranks (tests, benchmarks), not taken in",
                            err) ||
                   add_note(sink, e.no_times,
                            "Rows with a score of 0 or none, which is no time and ranks nowhere",
                            err)
               ? -1
               : 0;
}

bool gpumode_is_export(const char *path)
{
    cleanup_file FILE *file = regrade_is_file(path) ? fopen(path, "re") : NULL;
    cleanup_free char *text = calloc(1, FIRST_BYTES + 1);
    if (!file || !text)
        return false;
    size_t size = fread(text, 1, FIRST_BYTES, file);
    if (gpumode_ends_with(path, ".parquet"))
        return size >= 4 && !memcmp(text, "PAR1", 4);
    if (gpumode_ends_with(path, ".csv"))
        text[strcspn(text, "\r\n")] = 0;
    else if (!gpumode_ends_with(path, ".jsonl") && !gpumode_ends_with(path, ".ndjson"))
        return false;
    return strstr(text, "submission_id") && strstr(text, "leaderboard_id");
}
