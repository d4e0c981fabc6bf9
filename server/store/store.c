/* Opening, closing and health of the store. */
#define _GNU_SOURCE
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/condition.h"
#include "../../sandbox/base/fail.h"
#include "../../sandbox/base/io.h"
#include "database.h"
#include "internal.h"
#include "schema.h"

/* A store that has not written for so long tries whether it can when it is asked for its health. */
#define TRIAL_AFTER_NS (5 * IO_NS_PER_S)

const char *store_state_name(enum store_state state)
{
    static const char *const names[] = {"queued", "running", "done", "cancelled"};
    return (size_t)state < sizeof names / sizeof names[0] ? names[state] : "unknown";
}

void store_row_free(struct store_row *row)
{
    free(row->result);
    free(row->source);
    row->result = row->source = NULL;
}

void store_new_id(char ret[STORE_ID_SIZE])
{
    /* Never goes back, so that the ids of one process sort by age even if the clock is set back. */
    static _Atomic int64_t latest;
    int64_t now = io_unix_ms(), seen = atomic_load(&latest);
    while (now > seen && !atomic_compare_exchange_weak(&latest, &seen, now))
        ;
    if (now < seen)
        now = seen;
    uint8_t random[10];
    io_random(random, sizeof random);
    int used = snprintf(ret, STORE_ID_SIZE, "%012llx", (unsigned long long)now & 0xffffffffffffull);
    for (size_t i = 0; i < sizeof random; i++)
        used += snprintf(ret + used, STORE_ID_SIZE - (size_t)used, "%02x", random[i]);
}

/* The lock is one of flock(2) on a file of its own: SQLite's exclusive mode would shut out backups,
 * and closing any other descriptor of the database would drop the locks that SQLite has on it. */
static int take_lock(struct store *store, kgrade_error *err)
{
    cleanup_free char *path = NULL;
    if (asprintf(&path, "%s-lock", store->path) < 0)
        return fail(err, "store_failed", NULL, "There is no memory for the store.");
    cleanup_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fail_errno(err, "store_failed",
                          "The folder must exist and belong to the user that kgraded runs as.",
                          "Cannot open %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK)
            return fail_errno(err, "store_failed", "The store needs a local disk.",
                              "Cannot lock %s", path);
        char holder[32] = "";
        ssize_t n = pread(fd, holder, sizeof holder - 1, 0);
        holder[n > 0 ? (size_t)n : 0] = 0;
        holder[strspn(holder, "0123456789")] = 0;
        return fail(err, "store_busy", "End the other one, or name another database.",
                    "Another kgraded%s%s has the database %s.", holder[0] ? ", process " : "",
                    holder, store->path);
    }
    /* For the message above; the lock holds without it. */
    char self[32];
    int n = snprintf(self, sizeof self, "%d\n", (int)getpid());
    if (ftruncate(fd, 0) || pwrite(fd, self, (size_t)n, 0) != n)
        self[0] = 0;
    store->lock = steal_fd(&fd);
    return 0;
}

/* Makes the file before SQLite does, so that nobody else can read it.  SQLite gives the files beside
 * it the same mode. */
static int make_file(const char *path, kgrade_error *err)
{
    cleanup_close int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return 0;
    if (fd < 0)
        return fail_errno(err, "store_failed",
                          "The folder must exist and belong to the user that kgraded runs as.",
                          "Cannot create the database %s", path);
    cleanup_free char *copy = strdup(path);
    cleanup_close int folder = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder < 0 || fsync(folder))
        return fail_errno(err, "store_failed", NULL, "Cannot write the folder of %s", path);
    return 0;
}

static int check_integrity(struct store *store, kgrade_error *err)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(store->db, "PRAGMA quick_check(1)", -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    int status = 0;
    if (rc != SQLITE_ROW)
        status = database_fail(store->db, store->path, "store_failed", "read", err);
    else if (strcmp(column_text(statement, 0), "ok") != 0)
        status = database_fail_damaged(store->path, column_text(statement, 0), err);
    sqlite3_finalize(statement);
    return status;
}

static int configure(struct store *store, kgrade_error *err)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(store->db, "PRAGMA journal_mode = WAL", -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    bool wal = rc == SQLITE_ROW && !strcmp(column_text(statement, 0), "wal");
    sqlite3_finalize(statement);
    if (rc == SQLITE_ROW && !wal)
        return fail(err, "store_failed", "The store needs a local disk with shared memory maps.",
                    "The database %s cannot be used with a write-ahead log.", store->path);
    /* FULL: each commit is on disk before it is confirmed. */
    if (!wal || database_run(store->db, "PRAGMA synchronous = FULL;"
                                        "PRAGMA journal_size_limit = 67108864;"
                                        "PRAGMA trusted_schema = OFF") != SQLITE_OK)
        return database_fail(store->db, store->path, "store_failed", "set up", err);
    return 0;
}

/* A job that was running when the process died starts over. */
static int requeue(struct store *store, kgrade_error *err)
{
    if (database_run(store->db, "UPDATE jobs SET state = 0, started_ms = 0"
                                " WHERE state < 2 AND state = 1") != SQLITE_OK)
        return database_fail(store->db, store->path, "store_failed", "write", err);
    return 0;
}

static int identify(const char *path, struct identity *ret, kgrade_error *err)
{
    struct stat st;
    if (stat(path, &st))
        return fail_errno(
            err, "store_unavailable",
            "Move the file back to where it was; or stop kgraded, put a backup in its "
            "place, and start it again.",
            "The store's file %s is not there any more", path);
    *ret = (struct identity){st.st_dev, st.st_ino};
    return 0;
}

static int same_file(const char *path, const struct identity *expected, kgrade_error *err)
{
    struct identity now;
    if (identify(path, &now, err))
        return -1;
    if (now.device == expected->device && now.inode == expected->inode)
        return 0;
    return fail(
        err, "store_unavailable",
        "Move the first file back, or start kgraded again to use the one that is there now.",
        "Another file has taken the place of %s while it was in use.", path);
}

int store_in_place(const struct store *store, kgrade_error *err)
{
    if (same_file(store->path, &store->file, err) || same_file(store->wal_path, &store->wal, err))
        return -1;
    return 0;
}

void store_close_database(struct store *store)
{
    readers_close(store);
    write_finalize(store);
    sqlite3_close(store->db);
    store->db = NULL;
}

static void release(struct store *store)
{
    store_close_database(store);
    if (store->lock >= 0)
        close(store->lock);
    pthread_cond_destroy(&store->wake);
    pthread_cond_destroy(&store->ended);
    pthread_mutex_destroy(&store->mutex);
    pthread_mutex_destroy(&store->readers_mutex);
    free(store->path);
    free(store->wal_path);
    free(store);
}

static struct store *allocate(const char *path, kgrade_error *err)
{
    struct store *store = calloc(1, sizeof *store);
    char *copy = strdup(path), *wal = NULL;
    if (!store || !copy || asprintf(&wal, "%s-wal", path) < 0) {
        free(store);
        free(copy);
        fail_set(err, "store_failed", NULL, "There is no memory for the store.");
        return NULL;
    }
    store->path = copy;
    store->wal_path = wal;
    store->lock = -1;
    store->last = &store->first;
    condition_init(&store->wake);
    condition_init(&store->ended);
    pthread_mutex_init(&store->mutex, NULL);
    pthread_mutex_init(&store->readers_mutex, NULL);
    return store;
}

static int open_files(struct store *store, kgrade_error *err)
{
    if (take_lock(store, err) || make_file(store->path, err) ||
        database_open(store->path, "store_failed", &store->db, err) ||
        check_integrity(store, err) || configure(store, err) ||
        schema_migrate(store->db, store->path, &store_schema, err) || requeue(store, err))
        return -1;
    if (identify(store->path, &store->file, err) || identify(store->wal_path, &store->wal, err))
        return -1;
    return 0;
}

int store_open(const char *path, struct store **ret, kgrade_error *err)
{
    struct store *store = allocate(path, err);
    if (!store)
        return -1;
    if (open_files(store, err) || write_prepare(store, err) || writer_start(store, err)) {
        release(store);
        return -1;
    }
    *ret = store;
    return 0;
}

unsigned store_close(struct store *store, uint64_t timeout_ns)
{
    if (!store)
        return 0;
    unsigned unwritten;
    uint64_t now = io_now();
    uint64_t deadline = timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX;
    if (writer_stop(store, deadline, &unwritten))
        release(store);
    return unwritten;
}

void store_health(struct store *store, struct store_health *ret)
{
    pthread_mutex_lock(&store->mutex);
    *ret = (struct store_health){.works = !store->broken,
                                 .pending = store->waiting + store->in_flight,
                                 .writes = store->writes};
    if (store->broken)
        ret->error = store->error;
    size_t n = store->writes < STORE_LATENCIES ? store->writes : STORE_LATENCIES;
    for (size_t i = 0; i < n; i++) {
        ret->mean_write_s += store->latencies[i] / (double)n;
        ret->max_write_s = fmax(ret->max_write_s, store->latencies[i]);
    }
    if (!ret->pending && io_now() - store->last_write > TRIAL_AFTER_NS) {
        store->trial_wanted = true;
        pthread_cond_signal(&store->wake);
    }
    pthread_mutex_unlock(&store->mutex);
    if (ret->works && store_in_place(store, &ret->error))
        ret->works = false;
}
