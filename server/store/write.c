/* The transactions of the writer's thread. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../sandbox/base/fail.h"
#include "database.h"
#include "internal.h"

static const char *const texts[WRITE_STATEMENTS] = {
    [WRITE_BEGIN] = "BEGIN IMMEDIATE",
    [WRITE_COMMIT] = "COMMIT",
    [WRITE_ROLLBACK] = "ROLLBACK",
    [WRITE_TRIAL] = "UPDATE trial SET n = n + 1",
    [WRITE_JOB] = "INSERT INTO jobs (id, task, device, language, owner, source_hash, request_hash,"
                  " idempotency_key, created_ms, deadline_ms, profile)"
                  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    [WRITE_SOURCE] = "INSERT INTO sources (seq, source) VALUES (last_insert_rowid(), ?1)",
    [WRITE_FIND_KEY] = "SELECT id FROM jobs WHERE owner = ?1 AND idempotency_key = ?2",
    [WRITE_START] = "UPDATE jobs SET state = 1, attempts = attempts + 1,"
                    " started_ms = max(?2, created_ms) WHERE id = ?1 AND state = 0",
    /* max: a clock that was set back must not make a grade end before it began. */
    [WRITE_END] = "UPDATE jobs SET state = ?2, ended_ms = max(?3, started_ms, created_ms),"
                  " verdict = ?4, code = ?5, score = ?6, score_low = ?7, score_high = ?8,"
                  " task_hash = ?9 WHERE id = ?1 AND state < 2 RETURNING seq",
    [WRITE_RESULT] = "INSERT INTO results (seq, result) VALUES (?1, ?2)",
};

int write_prepare(struct store *store, kgrade_error *err)
{
    for (size_t i = 0; i < WRITE_STATEMENTS; i++) {
        store->statements[i] =
            database_prepare(store->db, store->path, "store_failed", texts[i], err);
        if (!store->statements[i])
            return -1;
    }
    return 0;
}

void write_finalize(struct store *store)
{
    for (size_t i = 0; i < WRITE_STATEMENTS; i++) {
        sqlite3_finalize(store->statements[i]);
        store->statements[i] = NULL;
    }
}

/* Runs a statement to its end; a result code.  *ret_number, if not NULL, is the first column of a row
 * that it returned, and stays as it is without one. */
static int run(struct store *store, enum write_statement which, int64_t *ret_number)
{
    sqlite3_stmt *statement = store->statements[which];
    int rc;
    errno = 0;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW)
        if (ret_number)
            *ret_number = sqlite3_column_int64(statement, 0);
    return rc == SQLITE_DONE ? sqlite3_reset(statement) : rc;
}

static void reset_all(struct store *store)
{
    for (size_t i = 0; i < WRITE_STATEMENTS; i++)
        sqlite3_reset(store->statements[i]);
}

static int find_key(struct store *store, struct op *op)
{
    const struct store_request *r = &op->request;
    if (!r->idempotency_key)
        return SQLITE_OK;
    sqlite3_stmt *statement = store->statements[WRITE_FIND_KEY];
    bind_text(statement, 1, r->owner);
    sqlite3_bind_blob64(statement, 2, r->idempotency_key, strlen(r->idempotency_key),
                        SQLITE_STATIC);
    int rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW)
        snprintf(op->existing, sizeof op->existing, "%s", column_text(statement, 0));
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return rc;
    return sqlite3_reset(statement);
}

static int add(struct store *store, struct op *op)
{
    const struct store_request *r = &op->request;
    int rc = find_key(store, op);
    if (rc != SQLITE_OK)
        return rc;
    if (op->existing[0]) {
        op->refused = true;
        fail_set(&op->error, "idempotency_key_used", NULL,
                 "The Idempotency-Key is that of grade %s.", op->existing);
        return SQLITE_OK;
    }

    sqlite3_stmt *job = store->statements[WRITE_JOB], *source = store->statements[WRITE_SOURCE];
    const char *const names[] = {r->id,    r->task,        r->device,      r->language,
                                 r->owner, r->source_hash, r->request_hash};
    for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++)
        bind_text(job, i + 1, names[i]);
    if (r->idempotency_key)
        sqlite3_bind_blob64(job, 8, r->idempotency_key, strlen(r->idempotency_key), SQLITE_STATIC);
    else
        sqlite3_bind_null(job, 8);
    sqlite3_bind_int64(job, 9, r->created_ms);
    sqlite3_bind_int64(job, 10, r->deadline_ms);
    sqlite3_bind_int(job, 11, r->profile);
    rc = run(store, WRITE_JOB, NULL);
    if (rc == SQLITE_CONSTRAINT_UNIQUE) {
        /* The key was looked for, so it is the id. */
        sqlite3_reset(job);
        op->refused = true;
        fail_set(&op->error, "id_used", NULL, "There is a grade %s already.", r->id);
        return SQLITE_OK;
    }
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_bind_blob64(source, 1, r->source, r->source_size, SQLITE_STATIC);
    return run(store, WRITE_SOURCE, NULL);
}

static int begin(struct store *store, struct op *op)
{
    sqlite3_stmt *statement = store->statements[WRITE_START];
    bind_text(statement, 1, op->id);
    sqlite3_bind_int64(statement, 2, op->at_ms);
    return run(store, WRITE_START, NULL);
}

static int end(struct store *store, struct op *op)
{
    const struct store_end *e = &op->end;
    bool done = op->kind == OP_FINISH;
    sqlite3_stmt *statement = store->statements[WRITE_END];
    bind_text(statement, 1, op->id);
    sqlite3_bind_int(statement, 2, done ? STORE_DONE : STORE_CANCELLED);
    sqlite3_bind_int64(statement, 3, op->at_ms);
    bind_text(statement, 4, e->verdict);
    bind_text(statement, 5, e->code);
    sqlite3_bind_double(statement, 6, isfinite(e->score) ? e->score : 0);
    /* NaN becomes NULL. */
    sqlite3_bind_double(statement, 7, done ? e->score_low : NAN);
    sqlite3_bind_double(statement, 8, done ? e->score_high : NAN);
    bind_text(statement, 9, e->task_hash);
    int64_t seq = -1;
    int rc = run(store, WRITE_END, &seq);
    if (rc != SQLITE_OK || seq < 0 || !done)
        return rc;
    sqlite3_stmt *result = store->statements[WRITE_RESULT];
    sqlite3_bind_int64(result, 1, seq);
    bind_text(result, 2, e->result);
    return run(store, WRITE_RESULT, NULL);
}

static int apply(struct store *store, struct op *op)
{
    if (op->refused)
        return SQLITE_OK;
    switch (op->kind) {
    case OP_ADD:
        return add(store, op);
    case OP_BEGIN:
        return begin(store, op);
    case OP_FINISH:
    case OP_CANCEL:
        return end(store, op);
    }
    return SQLITE_MISUSE;
}

static int transact(struct store *store, struct op *group, kgrade_error *err)
{
    if (store_in_place(store, err))
        return -1;
    int rc = run(store, WRITE_BEGIN, NULL);
    if (rc == SQLITE_OK && !group)
        rc = run(store, WRITE_TRIAL, NULL);
    for (struct op *op = group; op && rc == SQLITE_OK; op = op->next)
        rc = apply(store, op);
    /* Looked at again, as late as can be: what is confirmed must be in the file that has the name. */
    if (rc == SQLITE_OK && store_in_place(store, err))
        return -1;
    if (rc == SQLITE_OK)
        rc = run(store, WRITE_COMMIT, NULL);
    if (rc != SQLITE_OK)
        return database_fail(store->db, store->path, "store_unavailable", "write", err);
    return 0;
}

int write_group(struct store *store, struct op *group, kgrade_error *err)
{
    if (transact(store, group, err) == 0)
        return 0;
    reset_all(store);
    if (!sqlite3_get_autocommit(store->db))
        run(store, WRITE_ROLLBACK, NULL);
    reset_all(store);
    /* What was found out about the operations was true only within the transaction. */
    for (struct op *op = group; op; op = op->next)
        if (op->existing[0] || (op->refused && !strcmp(op->error.code, "id_used"))) {
            op->existing[0] = 0;
            op->refused = false;
        }
    return -1;
}
