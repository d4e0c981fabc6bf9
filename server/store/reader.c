/* The pool of connections for reading. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../sandbox/base/fail.h"
#include "database.h"
#include "internal.h"

#define ROW                                                                                        \
    "j.id, j.task, j.device, j.language, j.owner, j.source_hash, j.request_hash, j.state,"         \
    " j.created_ms, j.started_ms, j.ended_ms, j.deadline_ms, j.attempts, j.verdict, j.code, "      \
    "j.score, j.profile"
#define RESULT " LEFT JOIN results r ON r.seq = j.seq"
#define SOURCE " LEFT JOIN sources s ON s.seq = j.seq"
#define BY_ID " WHERE j.id = ?1"
#define ITEM                                                                                       \
    "id, task, device, state, verdict, code, score, owner, created_ms, ended_ms, source_hash"

/* Columns and parameters are those that read.c and leaderboard.c expect. */
static const char *const texts[READ_STATEMENTS] = {
    [READ_GET] = "SELECT " ROW ", NULL, NULL FROM jobs j" BY_ID,
    [READ_GET + STORE_WITH_RESULT] = "SELECT " ROW ", r.result, NULL FROM jobs j" RESULT BY_ID,
    [READ_GET + STORE_WITH_SOURCE] = "SELECT " ROW ", NULL, s.source FROM jobs j" SOURCE BY_ID,
    [READ_GET + STORE_WITH_RESULT + STORE_WITH_SOURCE] =
        "SELECT " ROW ", r.result, s.source FROM jobs j" RESULT SOURCE BY_ID,
    [READ_KEY] = "SELECT " ROW ", NULL, NULL FROM jobs j WHERE owner = ?1 AND idempotency_key = ?2",
    [READ_SAME] = "SELECT " ROW ", r.result, NULL FROM jobs j" RESULT
                  " WHERE j.task = ?1 AND j.device = ?2 AND j.owner = ?3 AND j.source_hash = ?4"
                  " AND j.state = 2 AND j.language = ?5 AND j.task_hash = ?6"
                  " AND j.profile >= ?7"
                  " AND j.verdict NOT IN ('infrastructure_error', 'suspect', 'unresolved')"
                  " ORDER BY j.seq DESC LIMIT 1",
    [READ_QUEUED] = "SELECT " ROW ", NULL, NULL FROM jobs j WHERE state < 2 AND state = 0"
                    " ORDER BY seq",
    [READ_SEQ] = "SELECT seq FROM jobs WHERE id = ?1 AND (?2 IS NULL OR owner = ?2)",
    [READ_LIST] = "SELECT " ITEM " FROM jobs WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2",
    [READ_LIST_OWNER] = "SELECT " ITEM " FROM jobs WHERE owner = ?3 AND seq < ?1"
                        " ORDER BY seq DESC LIMIT ?2",
    [READ_BOARD] = "SELECT owner, source_hash, seq, id, verdict, score, score_low, score_high,"
                   " task_hash, ended_ms FROM jobs WHERE task = ?1 AND device = ?2 AND state = 2"
                   " ORDER BY owner, source_hash, seq",
};

static void close_reader(struct reader *reader)
{
    for (size_t i = 0; i < READ_STATEMENTS; i++)
        sqlite3_finalize(reader->statements[i]);
    sqlite3_close(reader->db);
    free(reader);
}

static struct reader *open_reader(struct store *store, kgrade_error *err)
{
    struct reader *reader = calloc(1, sizeof *reader);
    if (!reader) {
        fail_set(err, "store_unavailable", NULL, "There is no memory to read the store.");
        return NULL;
    }
    /* Whatever has the name now is opened, so that must be the store still. */
    if (store_in_place(store, err) ||
        database_open(store->path, "store_unavailable", &reader->db, err)) {
        free(reader);
        return NULL;
    }
    if (database_run(reader->db, "PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;"
                                 "PRAGMA cache_size = -" STORE_READER_CACHE_KIB) != SQLITE_OK) {
        database_fail(reader->db, store->path, "store_unavailable", "read", err);
        close_reader(reader);
        return NULL;
    }
    return reader;
}

sqlite3_stmt *reader_statement(struct store *store, struct reader *reader,
                               enum read_statement which, kgrade_error *err)
{
    if (!reader->statements[which])
        reader->statements[which] =
            database_prepare(reader->db, store->path, "store_unavailable", texts[which], err);
    return reader->statements[which];
}

struct reader *reader_take(struct store *store, enum read_statement which, sqlite3_stmt **ret,
                           kgrade_error *err)
{
    pthread_mutex_lock(&store->readers_mutex);
    struct reader *reader = store->readers;
    if (reader) {
        store->readers = reader->next;
        store->n_readers--;
    }
    pthread_mutex_unlock(&store->readers_mutex);
    if (!reader)
        reader = open_reader(store, err);
    if (!reader)
        return NULL;
    *ret = reader_statement(store, reader, which, err);
    if (*ret)
        return reader;
    close_reader(reader);
    return NULL;
}

void reader_give(struct store *store, struct reader *reader)
{
    /* An unfinished statement would hold on to an old state of the database; one that has run to its
     * end takes no parameters until it is reset. */
    for (size_t i = 0; i < READ_STATEMENTS; i++)
        sqlite3_reset(reader->statements[i]);
    pthread_mutex_lock(&store->readers_mutex);
    bool keep = store->n_readers < STORE_READERS_KEPT;
    if (keep) {
        reader->next = store->readers;
        store->readers = reader;
        store->n_readers++;
    }
    pthread_mutex_unlock(&store->readers_mutex);
    if (!keep)
        close_reader(reader);
}

int reader_fail(struct store *store, struct reader *reader, kgrade_error *err)
{
    database_fail(reader->db, store->path, "store_unavailable", "read", err);
    close_reader(reader);
    return -1;
}

void readers_close(struct store *store)
{
    while (store->readers) {
        struct reader *reader = store->readers;
        store->readers = reader->next;
        close_reader(reader);
    }
}

void bind_text(sqlite3_stmt *statement, int parameter, const char *text)
{
    sqlite3_bind_text64(statement, parameter, text, strlen(text), SQLITE_STATIC, SQLITE_UTF8);
}

const char *column_text(sqlite3_stmt *statement, int column)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    return text ? (const char *)text : "";
}
