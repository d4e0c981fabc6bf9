#define _GNU_SOURCE
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "store_internal.h"

#define APPLICATION_ID 0x6b677267 /* "kgrg" */
#define VERSION 1

/*
 * candidates.current is the result that counts.  draw is a number made of an entry's id, by which samples are drawn.
 * round: 0 from a source, else the round of recordings in which a result was made.
 */
static const char schema[] =
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT;"
    "CREATE TABLE sources ("
    "    number INTEGER PRIMARY KEY,"
    "    adapter TEXT NOT NULL,"
    "    path TEXT NOT NULL,"
    "    title TEXT NOT NULL,"
    "    rule TEXT,"
    "    parameters TEXT,"
    "    clock TEXT,"
    "    tallies TEXT,"
    "    notes TEXT NOT NULL DEFAULT '[]',"
    "    UNIQUE (adapter, path)"
    ") STRICT;"
    "CREATE TABLE texts (hash TEXT PRIMARY KEY, text BLOB NOT NULL) STRICT;"
    "CREATE TABLE candidates ("
    "    number INTEGER PRIMARY KEY,"
    "    hash TEXT NOT NULL REFERENCES texts (hash),"
    "    task TEXT NOT NULL,"
    "    device TEXT NOT NULL,"
    "    language TEXT NOT NULL DEFAULT ''," /* '': the device's first */
    "    current INTEGER,"
    "    recording TEXT,"
    "    UNIQUE (hash, task, device, language)"
    ") STRICT;"
    "CREATE TABLE entries ("
    "    number INTEGER PRIMARY KEY,"
    "    source INTEGER NOT NULL REFERENCES sources (number),"
    "    id TEXT NOT NULL,"
    "    board TEXT NOT NULL,"
    "    problem TEXT NOT NULL,"
    "    author TEXT,"
    "    files TEXT,"
    "    language TEXT,"
    "    task TEXT,"
    "    device TEXT,"
    "    hardware TEXT,"
    "    bytes INTEGER NOT NULL,"
    "    candidate INTEGER REFERENCES candidates (number),"
    "    skip_code TEXT,"
    "    skip_message TEXT,"
    "    note TEXT,"
    "    value REAL,"
    "    unit TEXT,"
    "    rule TEXT,"
    "    lower INTEGER NOT NULL,"
    "    rank INTEGER NOT NULL,"
    "    passed INTEGER NOT NULL,"
    "    cases TEXT,"
    "    row TEXT,"
    "    draw INTEGER NOT NULL,"
    "    chosen INTEGER NOT NULL DEFAULT 0,"
    "    UNIQUE (source, id)"
    ") STRICT;"
    "CREATE INDEX entries_candidate ON entries (candidate);"
    "CREATE TABLE results ("
    "    number INTEGER PRIMARY KEY,"
    "    candidate INTEGER NOT NULL REFERENCES candidates (number),"
    "    round INTEGER NOT NULL,"
    "    verdict TEXT NOT NULL,"
    "    weight INTEGER NOT NULL," /* a result that weighs less does not take the place of another */
    "    code TEXT,"
    "    score REAL NOT NULL,"
    "    result TEXT NOT NULL"
    ") STRICT;"
    "CREATE INDEX results_candidate ON results (candidate, round);";

char *regrade_store_recording_path(const struct regrade_store *store, const char *hash)
{
    char *path = NULL;
    return asprintf(&path, "%s/recordings/%s.kgr", store->folder, hash) < 0 ? NULL : path;
}

static int create(struct regrade_store *store, kgrade_error *err)
{
    uint8_t random[REGRADE_RUN_DIGITS / 2];
    char run[REGRADE_RUN_DIGITS + 1], mark[96];
    io_random(random, sizeof random);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(run + 2 * i, 3, "%02x", random[i]);
    snprintf(mark, sizeof mark, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             APPLICATION_ID, VERSION);
    return regrade_db_run(&store->db, schema, err) ||
                   regrade_db_do(&store->db, err, "INSERT INTO meta VALUES ('run', ?)", "s", run) ||
                   regrade_db_run(&store->db, mark, err)
               ? -1
               : 0;
}

/* Whether the database is one of ours, making its tables where it is new. */
static int check_version(struct regrade_store *store, kgrade_error *err)
{
    int64_t mark, version, tables;
    if (regrade_db_number(&store->db, &mark, 0, err, "PRAGMA application_id", "") ||
        regrade_db_number(&store->db, &version, 0, err, "PRAGMA user_version", "") ||
        regrade_db_number(&store->db, &tables, 0, err, "SELECT count(*) FROM sqlite_schema", ""))
        return -1;
    if (!mark && !version && !tables && store->lock >= 0)
        return create(store, err);
    if (mark == APPLICATION_ID && version == VERSION)
        return 0;
    return fail(err, "store_version", "Name another folder, or use the kgrade that made it.",
                "%s is not a regrade that this kgrade knows (version %" PRId64 ").", store->db.path,
                version);
}

/* What a connection needs: the work of the round, in which state 0 waits, 1 is being graded, 2 is done with. */
static const char session[] =
    "CREATE TEMP TABLE todo (candidate INTEGER PRIMARY KEY, state INTEGER NOT NULL,"
    " turn REAL NOT NULL);"
    "CREATE INDEX temp.todo_waiting ON todo (turn, candidate) WHERE state = 0;"
    "CREATE TEMP TABLE seen (id TEXT PRIMARY KEY)"; /* ids of the source that is being taken in */

static int begin_session(struct regrade_store *store, kgrade_error *err)
{
    if (regrade_db_run(&store->db, session, err))
        return -1;
    cleanup_statement sqlite3_stmt *run =
        regrade_db_prepare(&store->db, err, "SELECT value FROM meta WHERE name = 'run'", "");
    int rc = run ? regrade_db_step(&store->db, run, err) : -1;
    if (rc < 0)
        return -1;
    const char *text = rc ? regrade_db_text(run, 0) : NULL;
    snprintf(store->run, sizeof store->run, "%s", text ? text : "");
    return 0;
}

static int begin_write(struct regrade_store *store, kgrade_error *err)
{
    if (regrade_db_run(&store->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL", err) ||
        regrade_db_run(&store->db, "BEGIN IMMEDIATE", err))
        return -1;
    if (!check_version(store, err) && !regrade_db_run(&store->db, "COMMIT", err))
        return 0;
    regrade_db_run(&store->db, "ROLLBACK", NULL);
    return -1;
}

static struct regrade_store *allocate(const char *folder, char **ret_path, kgrade_error *err)
{
    struct regrade_store *store = calloc(1, sizeof *store);
    *ret_path = NULL;
    if (store) {
        store->lock = -1;
        store->folder = strdup(folder);
        if (store->folder && asprintf(ret_path, "%s/" REGRADE_DATABASE, folder) >= 0)
            return store;
    }
    *ret_path = NULL;
    regrade_store_close(store);
    fail_set(err, "out_of_memory", NULL, "There is no memory for a store.");
    return NULL;
}

static int take_lock(struct regrade_store *store, kgrade_error *err)
{
    cleanup_free char *path = NULL;
    if (asprintf(&path, "%s/regrade.lock", store->folder) < 0) {
        path = NULL; /* which is undefined now */
        return fail(err, "out_of_memory", NULL, "There is no memory for a path.");
    }
    store->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (store->lock < 0)
        return fail_errno(err, "store_failed", NULL, "Cannot open %s", path);
    if (!flock(store->lock, LOCK_EX | LOCK_NB))
        return 0;
    if (errno == EWOULDBLOCK)
        return fail(err, "regrade_busy", "Wait for it, end it, or name another folder with --out.",
                    "Another kgrade regrade is working in %s.", store->folder);
    return fail_errno(err, "store_failed", NULL, "Cannot lock %s", path);
}

int regrade_store_open(const char *folder, struct regrade_store **ret, kgrade_error *err)
{
    cleanup_free char *path = NULL, *recordings = NULL;
    cleanup_regrade_store struct regrade_store *store = allocate(folder, &path, err);
    if (!store)
        return -1;
    if (asprintf(&recordings, "%s/recordings", folder) < 0) {
        recordings = NULL;
        return fail(err, "out_of_memory", NULL, "There is no memory for a path.");
    }
    if (io_make_dirs(recordings, err) || take_lock(store, err) ||
        regrade_db_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &store->db, err) ||
        begin_write(store, err) || begin_session(store, err))
        return -1;
    *ret = steal_pointer(&store);
    return 0;
}

int regrade_store_open_reader(const char *folder, struct regrade_store **ret, kgrade_error *err)
{
    cleanup_free char *path = NULL;
    cleanup_regrade_store struct regrade_store *store = allocate(folder, &path, err);
    if (!store)
        return -1;
    if (access(path, F_OK))
        return fail_errno(err, "no_regrade", "Name the folder that --out named.",
                          "There is no regrade in %s", folder);
    /* What reads a database in WAL mode writes to the files beside it, where it may. */
    int flags =
        access(folder, W_OK) || access(path, W_OK) ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    if (regrade_db_open(path, flags, &store->db, err) || check_version(store, err) ||
        begin_session(store, err))
        return -1;
    *ret = steal_pointer(&store);
    return 0;
}

void regrade_store_close(struct regrade_store *store)
{
    if (!store)
        return;
    regrade_db_close(&store->db);
    if (store->lock >= 0)
        close(store->lock);
    json_decref(store->notes);
    free(store->folder);
    free(store);
}
