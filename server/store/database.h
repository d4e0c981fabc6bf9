/* Connections to SQLite, and its errors as ours: shared by the files of the store. */
#ifndef KGRADED_DATABASE_H
#define KGRADED_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../sandbox/base/error.h"

/* How long a connection waits for another program's lock. */
#define DATABASE_BUSY_MS 2000

/* Opens a file that exists, for one thread at a time, waiting for locks.  Error: code. */
int database_open(const char *path, const char *code, sqlite3 **ret, kgrade_error *err);

/* Runs statements that return nothing of interest; an SQLite result code. */
int database_run(sqlite3 *db, const char *sql);

/* The first column of the first row as a number; an SQLite result code, SQLITE_NOTFOUND without a
 * row. */
int database_number(sqlite3 *db, const char *sql, int64_t *ret);

/* Prepares a statement that will be used often; NULL after filling *err with code. */
sqlite3_stmt *database_prepare(sqlite3 *db, const char *path, const char *code, const char *sql,
                               kgrade_error *err);

/* Whether a result code means that what is on disk is not a sound database. */
bool database_is_damage(int rc);

/* Makes an error of the connection's last one, and of errno, right after it.  what completes "Cannot ... the database". */
int database_fail(sqlite3 *db, const char *path, const char *code, const char *what,
                  kgrade_error *err);

/* The same for a damaged file, with code `store_damaged` and how to restore it. */
int database_fail_damaged(const char *path, const char *detail, kgrade_error *err);

#endif
