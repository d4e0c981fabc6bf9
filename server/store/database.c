#define _GNU_SOURCE
#include "database.h"

#include <errno.h>
#include <string.h>

#include "../../sandbox/base/fail.h"

int database_open(const char *path, const char *code, sqlite3 **ret, kgrade_error *err)
{
    sqlite3 *db = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    if (sqlite3_open_v2(path, &db, flags, NULL) != SQLITE_OK) {
        database_fail(db, path, code, "open", err);
        sqlite3_close(db);
        return -1;
    }
    sqlite3_busy_timeout(db, DATABASE_BUSY_MS);
    *ret = db;
    return 0;
}

int database_run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

int database_number(sqlite3 *db, const char *sql, int64_t *ret)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (rc != SQLITE_OK)
        return rc;
    rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW)
        *ret = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return rc == SQLITE_ROW ? SQLITE_OK : rc == SQLITE_DONE ? SQLITE_NOTFOUND : rc;
}

sqlite3_stmt *database_prepare(sqlite3 *db, const char *path, const char *code, const char *sql,
                               kgrade_error *err)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) == SQLITE_OK)
        return statement;
    database_fail(db, path, code, "read", err);
    return NULL;
}

bool database_is_damage(int rc)
{
    int primary = rc & 0xff;
    return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB;
}

static const char *hint_of(int primary, int cause)
{
    if (primary == SQLITE_FULL || cause == ENOSPC || cause == EDQUOT || cause == EFBIG)
        return "Free space on the disk that holds it, or raise the quota.";
    if (primary == SQLITE_READONLY || primary == SQLITE_PERM || cause == EROFS || cause == EACCES ||
        cause == EPERM)
        return "Make the file, those beside it and their folder writable for the user that kgraded "
               "runs as; see the kernel's log if the disk was made read-only after a fault.";
    if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED)
        return "Another program holds it locked: let that finish, or end it.";
    if (primary == SQLITE_CANTOPEN)
        return "The folder must exist and belong to the user that kgraded runs as.";
    if (primary == SQLITE_IOERR)
        return "See the kernel's log for faults of the disk.";
    return NULL;
}

int database_fail(sqlite3 *db, const char *path, const char *code, const char *what,
                  kgrade_error *err)
{
    /* sqlite3_system_errno knows nothing of commits that fail, and remembers older failures. */
    int system_error = errno;
    int rc = db ? sqlite3_extended_errcode(db) : SQLITE_NOMEM;
    int primary = rc & 0xff;
    if (database_is_damage(rc) && strcmp(code, "store_unavailable") != 0)
        return database_fail_damaged(path, sqlite3_errmsg(db), err);
    bool by_system = primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN;
    int cause = by_system ? system_error : 0;
    return fail(err, code, hint_of(primary, cause), "Cannot %s the database %s: %s%s%s.", what,
                path, db ? sqlite3_errmsg(db) : "out of memory", cause ? ": " : "",
                cause ? strerror(cause) : "");
}

int database_fail_damaged(const char *path, const char *detail, kgrade_error *err)
{
    return fail(err, "store_damaged",
                "Move it away together with the files beside it that end in -wal and -shm, put the "
                "latest backup (from kgrade db backup) in its place and start again.  What was "
                "graded since that backup is only in the damaged file.",
                "The database %s is damaged: %s.", path, detail);
}
