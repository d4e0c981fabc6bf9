/* Reading a store. */
#define _GNU_SOURCE
#include <math.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "store_internal.h"

const char *regrade_state_name(enum regrade_state state)
{
    static const char *const names[] = {[REGRADE_SKIPPED] = "skipped",
                                        [REGRADE_LEFT_OUT] = "left_out",
                                        [REGRADE_PLANNED] = "planned",
                                        [REGRADE_GRADED] = "graded"};
    return names[state];
}

int regrade_store_sources(const struct regrade_store *store,
                          int (*take)(void *data, const struct regrade_source_row *row,
                                      kgrade_error *err),
                          void *data, kgrade_error *err)
{
    cleanup_statement sqlite3_stmt *s =
        regrade_db_prepare(&store->db, err,
                           "SELECT number, adapter, path, title, rule, clock, parameters, tallies,"
                           " notes FROM sources ORDER BY number",
                           "");
    int rc = s ? 0 : -1;
    while (rc >= 0 && (rc = regrade_db_step(&store->db, s, err)) > 0) {
        json_auto_t *parameters = regrade_db_json(s, 6), *tallies = regrade_db_json(s, 7),
                    *notes = regrade_db_json(s, 8);
        const struct regrade_source_row row = {
            .number = sqlite3_column_int64(s, 0),
            .adapter = regrade_db_text(s, 1),
            .path = regrade_db_text(s, 2),
            .source = {.title = regrade_db_text(s, 3),
                       .rule = regrade_db_text(s, 4),
                       .clock = regrade_db_text(s, 5),
                       .rule_parameters = parameters,
                       .tallies = tallies},
            .notes = notes,
        };
        if (take(data, &row, err))
            return -1;
    }
    return rc;
}

/* Columns of `each`, in order. */
enum column {
    NUMBER,
    SOURCE,
    CANDIDATE,
    ID,
    BOARD,
    PROBLEM,
    AUTHOR,
    FILES,
    LANGUAGE,
    TASK,
    DEVICE,
    HARDWARE,
    BYTES,
    SKIP_CODE,
    SKIP_MESSAGE,
    NOTE,
    VALUE,
    UNIT,
    RULE,
    LOWER,
    RANK,
    PASSED,
    CASES,
    ROW,
    CHOSEN,
    HASH,
    RECORDING,
    N_RESULTS,
    VERDICT,
    CODE,
    SCORE,
    ROUND,
    RESULT,
};

#define EACH(result)                                                                               \
    "SELECT e.number, e.source, e.candidate, e.id, e.board, e.problem, e.author, e.files,"         \
    " e.language, e.task, e.device, e.hardware, e.bytes, e.skip_code, e.skip_message, e.note,"     \
    " e.value, e.unit, e.rule, e.lower, e.rank, e.passed, e.cases, e.row, e.chosen, c.hash,"       \
    " c.recording, (SELECT count(*) FROM results WHERE results.candidate = c.number),"             \
    " r.verdict, r.code, r.score, r.round, " result                                                \
    " FROM entries AS e LEFT JOIN candidates AS c ON c.number = e.candidate"                       \
    " LEFT JOIN results AS r ON r.number = c.current"                                              \
    " ORDER BY e.source, e.board, e.problem, e.rank = 0, e.rank, e.id"

static enum regrade_state state_of(sqlite3_stmt *s)
{
    if (regrade_db_text(s, SKIP_CODE))
        return REGRADE_SKIPPED;
    if (regrade_db_text(s, VERDICT))
        return REGRADE_GRADED;
    return sqlite3_column_int(s, CHOSEN) ? REGRADE_PLANNED : REGRADE_LEFT_OUT;
}

static double number_of(sqlite3_stmt *s, enum column column)
{
    return sqlite3_column_type(s, column) == SQLITE_NULL ? NAN : sqlite3_column_double(s, column);
}

static struct regrade_entry entry_of(sqlite3_stmt *s, const json_t *cases, const json_t *row)
{
    return (struct regrade_entry){
        .id = regrade_db_text(s, ID),
        .board = regrade_db_text(s, BOARD),
        .problem = regrade_db_text(s, PROBLEM),
        .author = regrade_db_text(s, AUTHOR),
        .files = regrade_db_text(s, FILES),
        .language = regrade_db_text(s, LANGUAGE),
        .task = regrade_db_text(s, TASK),
        .device = regrade_db_text(s, DEVICE),
        .hardware = regrade_db_text(s, HARDWARE),
        .source_size = (size_t)sqlite3_column_int64(s, BYTES),
        .skip_code = regrade_db_text(s, SKIP_CODE),
        .skip_message = regrade_db_text(s, SKIP_MESSAGE),
        .note = regrade_db_text(s, NOTE),
        .original =
            {
                .value = number_of(s, VALUE),
                .unit = regrade_db_text(s, UNIT),
                .rule = regrade_db_text(s, RULE),
                .lower_is_better = sqlite3_column_int(s, LOWER),
                .rank = (unsigned)sqlite3_column_int64(s, RANK),
                .passed = (enum regrade_passed)sqlite3_column_int(s, PASSED),
                .cases = cases,
                .row = row,
            },
    };
}

int regrade_store_each(const struct regrade_store *store, bool with_results,
                       int (*take)(void *data, const struct regrade_row *row, kgrade_error *err),
                       void *data, kgrade_error *err)
{
    cleanup_statement sqlite3_stmt *s =
        regrade_db_prepare(&store->db, err, with_results ? EACH("r.result") : EACH("NULL"), "");
    int rc = s ? 0 : -1;
    while (rc >= 0 && (rc = regrade_db_step(&store->db, s, err)) > 0) {
        json_auto_t *cases = regrade_db_json(s, CASES), *original = regrade_db_json(s, ROW),
                    *result = regrade_db_json(s, RESULT);
        const struct regrade_row row = {
            .number = sqlite3_column_int64(s, NUMBER),
            .source = sqlite3_column_int64(s, SOURCE),
            .candidate = sqlite3_column_int64(s, CANDIDATE),
            .entry = entry_of(s, cases, original),
            .source_hash = regrade_db_text(s, HASH),
            .state = state_of(s),
            .verdict = regrade_db_text(s, VERDICT),
            .reason_code = regrade_db_text(s, CODE),
            .score = number_of(s, SCORE),
            .from_recording = sqlite3_column_int64(s, ROUND) > 0,
            .n_results = (unsigned)sqlite3_column_int64(s, N_RESULTS),
            .recording_hash = regrade_db_text(s, RECORDING),
            .result = result,
        };
        if (take(data, &row, err))
            return -1;
    }
    return rc;
}

int regrade_store_result(const struct regrade_store *store, int64_t candidate, json_t **ret,
                         kgrade_error *err)
{
    cleanup_statement sqlite3_stmt *s =
        regrade_db_prepare(&store->db, err,
                           "SELECT r.result FROM candidates AS c JOIN results AS r ON r.number ="
                           " c.current WHERE c.number = ?",
                           "i", candidate);
    int rc = s ? regrade_db_step(&store->db, s, err) : -1;
    if (rc < 0)
        return -1;
    *ret = rc ? regrade_db_json(s, 0) : NULL;
    return 0;
}
