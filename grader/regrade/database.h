/* SQLite as the store of a regrade uses it: statements that are bound, run and read in a line each, and errors as ours. */
#ifndef KGRADE_REGRADE_DATABASE_H
#define KGRADE_REGRADE_DATABASE_H

#include <jansson.h>
#include <sqlite3.h>
#include <stdint.h>

#include "kgrade/error.h"

/* How long another program's lock is waited for. */
#define REGRADE_DB_BUSY_MS 10000

struct regrade_db {
    sqlite3 *handle;
    char *path;
};

/* Errors: `store_failed`, `store_damaged`. */
int regrade_db_open(const char *path, int flags, struct regrade_db *ret, kgrade_error *err);
void regrade_db_close(struct regrade_db *db);
int regrade_db_fail(const struct regrade_db *db, kgrade_error *err);

/* Runs statements without parameters. */
int regrade_db_run(const struct regrade_db *db, const char *sql, kgrade_error *err);

/* A statement with its parameters, bound in order by a letter each: i int64_t, d double, s const char * (NULL: null), b const
 * void * and size_t.  Texts must live until the statement is finalized.  NULL with *err. */
sqlite3_stmt *regrade_db_prepare(const struct regrade_db *db, kgrade_error *err, const char *sql,
                                 const char *types, ...);
/* The same, run to its end; it returns no rows. */
int regrade_db_do(const struct regrade_db *db, kgrade_error *err, const char *sql,
                  const char *types, ...);
/* The same, the first column of its first row; `otherwise` when there is none or it is null. */
int regrade_db_number(const struct regrade_db *db, int64_t *ret, int64_t otherwise,
                      kgrade_error *err, const char *sql, const char *types, ...);
/* 1: a row; 0: no more; -1 with *err. */
int regrade_db_step(const struct regrade_db *db, sqlite3_stmt *statement, kgrade_error *err);

/* A column: NULL for null. */
const char *regrade_db_text(sqlite3_stmt *statement, int column);
/* Parsed, a new reference; NULL for null. */
json_t *regrade_db_json(sqlite3_stmt *statement, int column);

static inline void cleanup_statement_(sqlite3_stmt **statement)
{
    sqlite3_finalize(*statement);
}
#define cleanup_statement __attribute__((cleanup(cleanup_statement_)))

#endif
