#include "schema.h"

#include <inttypes.h>
#include <stdio.h>

#include "../../sandbox/base/fail.h"
#include "database.h"

/*
 * seq is the order in which jobs were accepted, whatever the clock said.  Sources and results are in
 * tables of their own, so that lists and rankings do not read past them; jobs_done has all that a
 * ranking needs, in its order.
 *
 * state: 0 queued, 1 running, 2 done, 3 cancelled.  Times are Unix time in ms; 0: not yet.
 */
static const char version_1[] =
    "CREATE TABLE jobs ("
    "    seq INTEGER PRIMARY KEY,"
    "    id TEXT NOT NULL UNIQUE,"
    "    state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3),"
    "    task TEXT NOT NULL,"
    "    device TEXT NOT NULL,"
    "    language TEXT NOT NULL,"
    "    owner TEXT NOT NULL,"
    "    source_hash TEXT NOT NULL,"
    "    request_hash TEXT NOT NULL,"
    "    idempotency_key BLOB,"
    "    created_ms INTEGER NOT NULL,"
    "    started_ms INTEGER NOT NULL DEFAULT 0,"
    "    ended_ms INTEGER NOT NULL DEFAULT 0,"
    "    attempts INTEGER NOT NULL DEFAULT 0,"
    "    verdict TEXT NOT NULL DEFAULT '',"
    "    code TEXT NOT NULL DEFAULT '',"
    "    score REAL NOT NULL DEFAULT 0,"
    "    score_low REAL,"
    "    score_high REAL,"
    "    task_hash TEXT NOT NULL DEFAULT ''"
    ") STRICT;"
    "CREATE TABLE sources (seq INTEGER PRIMARY KEY, source BLOB NOT NULL) STRICT;"
    "CREATE TABLE results (seq INTEGER PRIMARY KEY, result TEXT NOT NULL) STRICT;"
    "CREATE TABLE trial (only INTEGER PRIMARY KEY CHECK (only = 1), n INTEGER NOT NULL) STRICT;"
    "INSERT INTO trial VALUES (1, 0);"
    "CREATE UNIQUE INDEX jobs_key ON jobs (owner, idempotency_key)"
    "    WHERE idempotency_key IS NOT NULL;"
    "CREATE INDEX jobs_owner ON jobs (owner);"
    "CREATE INDEX jobs_open ON jobs (state) WHERE state < 2;"
    "CREATE INDEX jobs_done ON jobs (task, device, owner, source_hash, seq, id, verdict, score,"
    "    score_low, score_high, task_hash, ended_ms, state) WHERE state = 2;";

static const char version_2[] =
    "ALTER TABLE jobs ADD COLUMN deadline_ms INTEGER NOT NULL DEFAULT 0;"; /* 0: none */

static const char version_3[] = "ALTER TABLE jobs ADD COLUMN profile INTEGER NOT NULL DEFAULT 0"
                                " CHECK (profile BETWEEN 0 AND 1);"; /* a profile is wanted too */

static const char *const steps[] = {version_1, version_2, version_3};
const struct schema store_schema = {steps, sizeof steps / sizeof steps[0]};

static int begin(sqlite3 *db, const char *path, kgrade_error *err)
{
    if (database_run(db, "BEGIN IMMEDIATE") == SQLITE_OK)
        return 0;
    return database_fail(db, path, "store_failed", "write", err);
}

static int apply(sqlite3 *db, const char *path, const char *step, unsigned version,
                 kgrade_error *err)
{
    char mark[96];
    snprintf(mark, sizeof mark, "PRAGMA application_id = %d; PRAGMA user_version = %u; COMMIT",
             SCHEMA_APPLICATION_ID, version);
    if (begin(db, path, err))
        return -1;
    if (database_run(db, step) == SQLITE_OK && database_run(db, mark) == SQLITE_OK)
        return 0;
    char what[64];
    snprintf(what, sizeof what, "bring to version %u", version);
    database_fail(db, path, "store_failed", what, err);
    database_run(db, "ROLLBACK");
    return -1;
}

int schema_migrate(sqlite3 *db, const char *path, const struct schema *schema, kgrade_error *err)
{
    int64_t version, mark, tables;
    if (database_number(db, "PRAGMA user_version", &version) != SQLITE_OK ||
        database_number(db, "PRAGMA application_id", &mark) != SQLITE_OK ||
        database_number(db, "SELECT count(*) FROM sqlite_schema", &tables) != SQLITE_OK)
        return database_fail(db, path, "store_failed", "read", err);
    bool is_new = version == 0 && mark == 0 && tables == 0;
    if (!is_new && mark != SCHEMA_APPLICATION_ID)
        return fail(err, "store_failed", "Name another file; one that does not exist is made.",
                    "%s is a database, but not one of kgraded.", path);
    if (version < 0 || version > (int64_t)schema->n_steps)
        return fail(
            err, "store_newer", "Run the newer kgraded, or restore a backup made before it.",
            "The database %s has version %" PRId64 "; this kgraded knows versions up to %u.", path,
            version, schema->n_steps);
    for (unsigned i = (unsigned)version; i < schema->n_steps; i++)
        if (apply(db, path, schema->steps[i], i + 1, err))
            return -1;
    return 0;
}
