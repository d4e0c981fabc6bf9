/* Handing work out, and keeping what came of it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "store_internal.h"

/* In the order in which they were read; but those that bring something for PyTorch to compile, which takes half a minute, are spread
 * evenly among the others, so that the device has something to do meanwhile. */
#define CHOSEN                                                                                     \
    "INSERT INTO todo SELECT number, 0,"                                                           \
    " (row_number() OVER (PARTITION BY slow ORDER BY number) - 0.5)"                               \
    " / count(*) OVER (PARTITION BY slow)"                                                         \
    " FROM (SELECT number, instr(t.text, 'cpp_extension') > 0 AS slow"                             \
    " FROM candidates AS c JOIN texts AS t ON t.hash = c.hash WHERE EXISTS (SELECT 1 FROM entries" \
    " AS e WHERE e.candidate = c.number AND e.chosen AND e.skip_code IS NULL) AND "
#define END ")"

#define CURRENT_WEIGHT "(SELECT weight FROM results WHERE results.number = c.current)"

static const char *const fill_todo[] = {
    [REGRADE_FIRST] = CHOSEN "current IS NULL" END,
    [REGRADE_AGAIN] = CHOSEN "(current IS NULL OR " CURRENT_WEIGHT " = 0)" END,
    [REGRADE_UNRESOLVED] = CHOSEN "(current IS NULL OR " CURRENT_WEIGHT " <= 1)" END,
    [REGRADE_RECORDINGS] =
        CHOSEN "recording IS NOT NULL AND NOT EXISTS"
               " (SELECT 1 FROM results AS r WHERE r.candidate = c.number AND r.round = ?)" END,
};

/* The round of recordings that was interrupted, else a new one. */
static int find_round(struct regrade_store *store, kgrade_error *err)
{
    int64_t open, last;
    if (regrade_db_number(&store->db, &open, 0, err,
                          "SELECT value FROM meta WHERE name = 'open_round'", "") ||
        regrade_db_number(&store->db, &last, 0, err, "SELECT max(round) FROM results", ""))
        return -1;
    store->round_number = open ? open : last + 1;
    return regrade_db_do(&store->db, err, "INSERT OR REPLACE INTO meta VALUES ('open_round', ?)",
                         "i", store->round_number);
}

/* Takes what has no recording any more out of the round. */
static int leave_out_missing(struct regrade_store *store, kgrade_error *err)
{
    cleanup_statement sqlite3_stmt *rows = regrade_db_prepare(
        &store->db, err,
        "SELECT number, recording FROM candidates WHERE number IN (SELECT candidate FROM todo)",
        "");
    int rc = rows ? 0 : -1;
    while (rc >= 0 && (rc = regrade_db_step(&store->db, rows, err)) > 0) {
        cleanup_free char *path = regrade_store_recording_path(store, regrade_db_text(rows, 1));
        if (path && !access(path, R_OK))
            continue;
        store->unkept++;
        if (regrade_db_do(&store->db, err, "DELETE FROM todo WHERE candidate = ?", "i",
                          (int64_t)sqlite3_column_int64(rows, 0)))
            return -1;
    }
    return rc;
}

static int count_unkept(struct regrade_store *store, kgrade_error *err)
{
    int64_t n;
    if (regrade_db_number(&store->db, &n, 0, err,
                          "SELECT count(*) FROM candidates AS c WHERE recording IS NULL AND"
                          " EXISTS (SELECT 1 FROM entries AS e WHERE e.candidate = c.number AND "
                          "e.chosen AND e.skip_code IS NULL)",
                          ""))
        return -1;
    store->unkept = (uint64_t)n;
    return leave_out_missing(store, err);
}

/* How many chosen candidates are done with before the round begins or goes on. */
static int count_before(struct regrade_store *store, kgrade_error *err)
{
    int64_t chosen, to_do;
    if (regrade_db_number(&store->db, &chosen, 0, err,
                          "SELECT count(DISTINCT candidate) FROM entries WHERE chosen AND"
                          " candidate IS NOT NULL AND skip_code IS NULL",
                          "") ||
        regrade_db_number(&store->db, &to_do, 0, err, "SELECT count(*) FROM todo", ""))
        return -1;
    int64_t before = chosen - to_do - (int64_t)store->unkept;
    store->before = before > 0 ? (uint64_t)before : 0;
    return 0;
}

/* A round of recordings in which nothing is left to do is over. */
static int close_round(struct regrade_store *store, kgrade_error *err)
{
    return regrade_db_do(&store->db, err,
                         "DELETE FROM meta WHERE name = 'open_round' AND NOT EXISTS"
                         " (SELECT 1 FROM todo WHERE state < 2)",
                         "");
}

int regrade_store_begin(struct regrade_store *store, enum regrade_round round, kgrade_error *err)
{
    bool recordings = round == REGRADE_RECORDINGS;
    store->round = round;
    store->round_number = 0;
    store->unkept = 0;
    if (regrade_db_run(&store->db, "DELETE FROM todo", err) ||
        (recordings && find_round(store, err)) ||
        regrade_db_do(&store->db, err, fill_todo[round], recordings ? "i" : "",
                      store->round_number))
        return -1;
    if (recordings && (count_unkept(store, err) || close_round(store, err)))
        return -1;
    return count_before(store, err);
}

int regrade_store_counts(const struct regrade_store *store, struct regrade_counts *ret,
                         kgrade_error *err)
{
    cleanup_statement sqlite3_stmt *row = regrade_db_prepare(
        &store->db, err,
        "SELECT count(*), count(e.skip_code), sum(e.skip_code IS NULL AND NOT e.chosen),"
        " sum(e.skip_code IS NULL AND e.chosen),"
        " sum(e.skip_code IS NULL AND e.chosen AND c.current IS NOT NULL)"
        " FROM entries AS e LEFT JOIN candidates AS c ON c.number = e.candidate",
        "");
    int64_t all, open;
    if (!row || regrade_db_step(&store->db, row, err) < 0 ||
        regrade_db_number(&store->db, &all, 0, err, "SELECT count(*) FROM todo", "") ||
        regrade_db_number(&store->db, &open, 0, err, "SELECT count(*) FROM todo WHERE state < 2",
                          ""))
        return -1;
    *ret = (struct regrade_counts){
        .entries = (uint64_t)sqlite3_column_int64(row, 0),
        .skipped = (uint64_t)sqlite3_column_int64(row, 1),
        .left_out = (uint64_t)sqlite3_column_int64(row, 2),
        .chosen = (uint64_t)sqlite3_column_int64(row, 3),
        .graded = (uint64_t)sqlite3_column_int64(row, 4),
        .candidates = store->before + (uint64_t)all,
        .to_do = (uint64_t)open,
        .unkept = store->unkept,
    };
    return 0;
}

int regrade_store_uses(const struct regrade_store *store, const char *device, bool *ret,
                       kgrade_error *err)
{
    int64_t uses;
    if (regrade_db_number(&store->db, &uses, 0, err,
                          "SELECT EXISTS (SELECT 1 FROM todo JOIN candidates ON number = candidate"
                          " WHERE state < 2 AND device = ?)",
                          "s", device))
        return -1;
    *ret = uses;
    return 0;
}

void regrade_job_free(struct regrade_job *job)
{
    free(job->task);
    free(job->device);
    free(job->language);
    free(job->source);
    free(job->recording_hash);
    free(job->name);
    *job = (struct regrade_job){0};
}

/* A copy; NULL for null and "". */
static char *copy(sqlite3_stmt *row, int column)
{
    const char *text = regrade_db_text(row, column);
    return text && *text ? strdup(text) : NULL;
}

/* An id that is this candidate's next result's, however often the process is killed before it is there; and another one after a
 * refusal, since a server answers an id with the grade that it had before, be it a cancelled one. */
static void name_grade(const struct regrade_store *store, int64_t candidate, int64_t ended,
                       char ret[KGRADE_ID_DIGITS + 1])
{
    char hex[HASH_HEX];
    const struct hash_part parts[] = {
        {store->run, strlen(store->run)}, {&candidate, sizeof candidate}, {&ended, sizeof ended}};
    hash_parts(parts, sizeof parts / sizeof parts[0], hex);
    snprintf(ret, KGRADE_ID_DIGITS + 1, "%.*s", KGRADE_ID_DIGITS, hex);
}

static int fill_job(const struct regrade_store *store, sqlite3_stmt *row, struct regrade_job *ret,
                    kgrade_error *err)
{
    struct regrade_job job = {.candidate = sqlite3_column_int64(row, 0)};
    job.task = copy(row, 1);
    job.device = copy(row, 2);
    job.language = copy(row, 3);
    job.name = copy(row, 6);
    if (store->round == REGRADE_RECORDINGS) {
        job.recording_hash = copy(row, 4);
    } else {
        const void *text = sqlite3_column_blob(row, 7);
        job.source_size = (size_t)sqlite3_column_bytes(row, 7);
        job.source = malloc(job.source_size + 1);
        if (job.source) {
            if (job.source_size)
                memcpy(job.source, text, job.source_size);
            job.source[job.source_size] = 0;
        }
    }
    name_grade(store, job.candidate, sqlite3_column_int64(row, 5), job.grade_id);
    if (job.task && job.device && job.name && (job.source || job.recording_hash)) {
        *ret = job;
        return 0;
    }
    regrade_job_free(&job);
    return fail(err, "out_of_memory", NULL, "There is no memory for a candidate.");
}

int regrade_store_next(struct regrade_store *store, struct regrade_job *ret, kgrade_error *err)
{
    cleanup_statement sqlite3_stmt *row = regrade_db_prepare(
        &store->db, err,
        "SELECT c.number, c.task, c.device, c.language, c.recording,"
        " (SELECT count(*) FROM results AS r WHERE r.candidate = c.number)"
        " + coalesce((SELECT value FROM meta WHERE name = 'refused ' || c.number), 0),"
        " (SELECT id FROM entries AS e WHERE e.candidate = c.number AND e.chosen LIMIT 1), t.text"
        " FROM candidates AS c JOIN texts AS t ON t.hash = c.hash WHERE c.number ="
        " (SELECT candidate FROM todo WHERE state = 0 ORDER BY turn, candidate LIMIT 1)",
        "");
    int rc = row ? regrade_db_step(&store->db, row, err) : -1;
    if (rc <= 0)
        return rc < 0 ? -1 : 1;
    if (fill_job(store, row, ret, err))
        return -1;
    if (!regrade_db_do(&store->db, err, "UPDATE todo SET state = 1 WHERE candidate = ?", "i",
                       ret->candidate))
        return 0;
    regrade_job_free(ret);
    return -1;
}

static const char *text_of(const json_t *json, const char *key)
{
    return json_string_value(json_object_get(json, key));
}

/* What a result says of its candidate: an error of the infrastructure nothing, one that noise spoiled little. */
static int64_t weight_of(const char *verdict)
{
    if (!strcmp(verdict, kgrade_verdict_name(KGRADE_INFRASTRUCTURE_ERROR)))
        return 0;
    return strcmp(verdict, kgrade_verdict_name(KGRADE_UNRESOLVED)) ? 2 : 1;
}

static int insert_result(struct regrade_store *store, const struct regrade_job *job,
                         const json_t *json, const char *result, const char *recording_hash,
                         kgrade_error *err)
{
    const struct regrade_db *db = &store->db;
    const char *verdict = text_of(json, "verdict");
    if (regrade_db_do(db, err,
                      "INSERT INTO results (candidate, round, verdict, weight, code, score, result)"
                      " VALUES (?, ?, ?, ?, ?, ?, ?)",
                      "iisisds", job->candidate, store->round_number, verdict, weight_of(verdict),
                      text_of(json_object_get(json, "reason"), "code"),
                      json_number_value(json_object_get(json, "score")), result))
        return -1;
    int64_t number = sqlite3_last_insert_rowid(db->handle);
    return regrade_db_do(db, err,
                         "UPDATE candidates SET current = ?1 WHERE number = ?2 AND (current IS NULL"
                         " OR (SELECT new.weight >= old.weight FROM results AS new, results AS old"
                         " WHERE new.number = ?1 AND old.number = current))",
                         "ii", number, job->candidate) ||
                   regrade_db_do(db, err,
                                 "UPDATE candidates SET recording = coalesce(?, recording)"
                                 " WHERE number = ?",
                                 "si", recording_hash, job->candidate) ||
                   regrade_db_do(db, err, "UPDATE todo SET state = 2 WHERE candidate = ?", "i",
                                 job->candidate) ||
                   (store->round == REGRADE_RECORDINGS && close_round(store, err))
               ? -1
               : 0;
}

int regrade_store_finish(struct regrade_store *store, const struct regrade_job *job,
                         const char *result, const char *recording_hash, kgrade_error *err)
{
    json_auto_t *json = json_loads(result, JSON_REJECT_DUPLICATES, NULL);
    if (!text_of(json, "verdict"))
        return fail(err, "bad_answer", "Is it a kgraded that answers there?",
                    "What came back for %s is not a result.", job->name);
    if (regrade_db_run(&store->db, "BEGIN IMMEDIATE", err))
        return -1;
    if (!insert_result(store, job, json, result, recording_hash, err) &&
        !regrade_db_run(&store->db, "COMMIT", err))
        return 0;
    regrade_db_run(&store->db, "ROLLBACK", NULL);
    return -1;
}

int regrade_store_refuse(struct regrade_store *store, const struct regrade_job *job,
                         const kgrade_error *why, kgrade_error *err)
{
    if (store->round != REGRADE_RECORDINGS &&
        (regrade_db_do(&store->db, err,
                       "UPDATE entries SET skip_code = ?, skip_message = ? WHERE candidate = ?",
                       "ssi", why->code, why->message, job->candidate) ||
         regrade_db_do(&store->db, err,
                       "INSERT INTO meta VALUES ('refused ' || ?, 1)"
                       " ON CONFLICT DO UPDATE SET value = value + 1",
                       "i", job->candidate)))
        return -1;
    if (regrade_db_do(&store->db, err, "UPDATE todo SET state = 2 WHERE candidate = ?", "i",
                      job->candidate))
        return -1;
    return store->round == REGRADE_RECORDINGS ? close_round(store, err) : 0;
}
