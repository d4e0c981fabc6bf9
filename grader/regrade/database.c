#define _GNU_SOURCE
#include "database.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"

static const char *hint_of(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_IOERR:
        return "Is there space on the disk?  The same command goes on where this one ended.";
    case SQLITE_FULL:
        return "Free space on the disk, then run the same command again: it goes on where it was.";
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        return "Make the folder, and what is in it, readable and writable for this user.";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "Another program holds the database locked; let that finish, or end it.";
    default:
        return NULL;
    }
}

int regrade_db_fail(const struct regrade_db *db, kgrade_error *err)
{
    int rc = db->handle ? sqlite3_extended_errcode(db->handle) : SQLITE_NOMEM;
    const char *detail = db->handle ? sqlite3_errmsg(db->handle) : "out of memory";
    if ((rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB)
        return fail(err, "store_damaged",
                    "Name another folder with --out; `sqlite3 FILE .recover` may save results.",
                    "The database %s is damaged: %s.", db->path, detail);
    return fail(err, "store_failed", hint_of(rc), "The database %s cannot be used: %s.", db->path,
                detail);
}

int regrade_db_open(const char *path, int flags, struct regrade_db *ret, kgrade_error *err)
{
    struct regrade_db db = {.path = strdup(path)};
    if (!db.path)
        return fail(err, "out_of_memory", NULL, "There is no memory for a path.");
    if (sqlite3_open_v2(path, &db.handle, flags | SQLITE_OPEN_EXRESCODE, NULL) != SQLITE_OK) {
        regrade_db_fail(&db, err);
        regrade_db_close(&db);
        return -1;
    }
    sqlite3_busy_timeout(db.handle, REGRADE_DB_BUSY_MS);
    *ret = db;
    return 0;
}

void regrade_db_close(struct regrade_db *db)
{
    sqlite3_close(db->handle);
    free(db->path);
    *db = (struct regrade_db){0};
}

int regrade_db_run(const struct regrade_db *db, const char *sql, kgrade_error *err)
{
    return sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? 0
                                                                        : regrade_db_fail(db, err);
}

static int bind_all(sqlite3_stmt *statement, const char *types, va_list ap)
{
    int rc = SQLITE_OK;
    for (int i = 1; *types && rc == SQLITE_OK; types++, i++) {
        if (*types == 'i') {
            rc = sqlite3_bind_int64(statement, i, va_arg(ap, int64_t));
        } else if (*types == 'd') {
            rc = sqlite3_bind_double(statement, i, va_arg(ap, double)); /* NaN becomes null */
        } else if (*types == 's') {
            rc = sqlite3_bind_text(statement, i, va_arg(ap, const char *), -1, SQLITE_STATIC);
        } else {
            const void *data = va_arg(ap, const void *);
            rc = sqlite3_bind_blob64(statement, i, data, va_arg(ap, size_t), SQLITE_STATIC);
        }
    }
    return rc;
}

static sqlite3_stmt *prepare(const struct regrade_db *db, const char *sql, const char *types,
                             va_list ap, kgrade_error *err)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db->handle, sql, -1, &statement, NULL) == SQLITE_OK &&
        bind_all(statement, types, ap) == SQLITE_OK)
        return statement;
    regrade_db_fail(db, err);
    sqlite3_finalize(statement);
    return NULL;
}

sqlite3_stmt *regrade_db_prepare(const struct regrade_db *db, kgrade_error *err, const char *sql,
                                 const char *types, ...)
{
    va_list ap;
    va_start(ap, types);
    sqlite3_stmt *statement = prepare(db, sql, types, ap, err);
    va_end(ap);
    return statement;
}

int regrade_db_step(const struct regrade_db *db, sqlite3_stmt *statement, kgrade_error *err)
{
    int rc = sqlite3_step(statement);
    return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : regrade_db_fail(db, err);
}

int regrade_db_do(const struct regrade_db *db, kgrade_error *err, const char *sql,
                  const char *types, ...)
{
    va_list ap;
    va_start(ap, types);
    cleanup_statement sqlite3_stmt *statement = prepare(db, sql, types, ap, err);
    va_end(ap);
    return statement && regrade_db_step(db, statement, err) >= 0 ? 0 : -1;
}

int regrade_db_number(const struct regrade_db *db, int64_t *ret, int64_t otherwise,
                      kgrade_error *err, const char *sql, const char *types, ...)
{
    va_list ap;
    va_start(ap, types);
    cleanup_statement sqlite3_stmt *statement = prepare(db, sql, types, ap, err);
    va_end(ap);
    int rc = statement ? regrade_db_step(db, statement, err) : -1;
    if (rc < 0)
        return -1;
    bool none = rc == 0 || sqlite3_column_type(statement, 0) == SQLITE_NULL;
    *ret = none ? otherwise : sqlite3_column_int64(statement, 0);
    return 0;
}

const char *regrade_db_text(sqlite3_stmt *statement, int column)
{
    return (const char *)sqlite3_column_text(statement, column);
}

json_t *regrade_db_json(sqlite3_stmt *statement, int column)
{
    const char *text = regrade_db_text(statement, column);
    return text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
}
