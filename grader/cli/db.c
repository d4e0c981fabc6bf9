/* The commands on the database of kgraded: of SQLite alone, they know nothing of what is in it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/fail.h"
#include "cli.h"
#include "text.h"

#define BUSY_MS 5000      /* how long another program's lock is waited for */
#define MOST_PROBLEMS 100 /* that are listed */

static void cleanup_database_(sqlite3 **db)
{
    sqlite3_close(*db);
}
#define cleanup_database __attribute__((cleanup(cleanup_database_)))

static enum cli_exit complain(const kgrade_error *error)
{
    cli_print_error(error);
    if (!strcmp(error->code, "store_damaged"))
        return CLI_NOT_ACCEPTED;
    if (!strcmp(error->code, "file_unreadable") || !strcmp(error->code, "file_exists"))
        return CLI_USAGE;
    return CLI_INFRASTRUCTURE;
}

static int fail_damaged(const char *path, const char *detail, kgrade_error *err)
{
    return fail(err, "store_damaged",
                "Stop kgraded, move the file away together with those beside it that end in -wal "
                "and -shm, and put the latest backup in its place.",
                "The database %s is damaged: %s.", path, detail);
}

static bool is_damage(int rc)
{
    return (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB;
}

static int fail_database(sqlite3 *db, const char *path, const char *what, kgrade_error *err)
{
    int rc = sqlite3_errcode(db);
    const char *hint = NULL;
    if (is_damage(rc))
        return fail_damaged(path, sqlite3_errmsg(db), err);
    if (rc == SQLITE_CANTOPEN || rc == SQLITE_READONLY)
        hint =
            "Run it as root or as the user that kgraded runs as: the files beside a database are "
            "needed to read it.";
    else if (rc == SQLITE_FULL)
        hint = "Free space on the disk.";
    else if (rc == SQLITE_BUSY)
        hint = "Another program holds it locked; try again when that has finished.";
    return fail(err, "backup_failed", hint, "Cannot %s %s: %s.", what, path, sqlite3_errmsg(db));
}

/* Opens a database that is there and not empty, to be read; kgraded may go on using it. */
static int open_database(const char *path, sqlite3 **ret, uint64_t *ret_bytes, kgrade_error *err)
{
    struct stat st;
    if (stat(path, &st) || (!S_ISREG(st.st_mode) && (errno = EINVAL)))
        return fail_errno(err, "file_unreadable", NULL, "Cannot read the database %s", path);
    cleanup_database sqlite3 *db = NULL;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        return fail_database(db, path, "open", err);
    sqlite3_busy_timeout(db, BUSY_MS);
    if (st.st_size == 0)
        return fail_damaged(path, "the file is empty", err);
    *ret_bytes = (uint64_t)st.st_size;
    *ret = steal_pointer(&db);
    return 0;
}

/* Whatever bytes it has: nothing that was found may get lost. */
static void add_problem(json_t *problems, const char *text)
{
    json_t *json = json_string(text);
    json_array_append_new(problems, json ? json : json_string("A name in it is not UTF-8."));
}

/* What SQLite finds wrong, as an array of texts; NULL with an error when it cannot look. */
static json_t *find_problems(sqlite3 *db, const char *path, kgrade_error *err)
{
    sqlite3_stmt *statement = NULL;
    json_t *problems = json_array();
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA integrity_check(%d)", MOST_PROBLEMS);
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        if (text && strcmp(text, "ok") != 0)
            add_problem(problems, text);
        rc = SQLITE_OK;
    }
    if (is_damage(rc)) {
        add_problem(problems, sqlite3_errmsg(db));
    } else if (rc != SQLITE_DONE) {
        fail_database(db, path, "check", err);
        json_decref(problems);
        problems = NULL;
    }
    sqlite3_finalize(statement);
    return problems;
}

static void print_json(json_t *report)
{
    cleanup_free char *text = report ? json_dumps(report, JSON_INDENT(2)) : NULL;
    puts(text ? text : "null");
    json_decref(report);
}

enum cli_exit command_db_check(const struct cli *cli)
{
    const char *path = cli->arguments[0];
    kgrade_error error = {0};
    uint64_t bytes;
    cleanup_database sqlite3 *db = NULL;
    if (open_database(path, &db, &bytes, &error))
        return complain(&error);
    json_auto_t *problems = find_problems(db, path, &error);
    if (!problems)
        return complain(&error);
    size_t n = json_array_size(problems);
    if (cli->json) {
        print_json(json_pack("{s:s, s:I, s:b, s:O}", "database", path, "bytes", (json_int_t)bytes,
                             "ok", n == 0, "problems", problems));
    } else if (!n) {
        printf("%s is sound: %.1f MB.\n", path, (double)bytes / 1e6);
    } else {
        size_t i;
        json_t *problem;
        json_array_foreach(problems, i, problem)
        {
            text_print_foreign(stdout, "", json_string_value(problem));
        }
        fail_damaged(path, "what was found is above", &error);
        cli_print_error(&error);
    }
    return n ? CLI_NOT_ACCEPTED : CLI_ACCEPTED;
}

/* --- Backups ------------------------------------------------------------------------------------ */

/* Copies within one read transaction, so that the copy is of one moment, and makes it a file that
 * needs no others beside it. */
static int copy_database(sqlite3 *from, const char *from_path, sqlite3 *to, const char *to_path,
                         kgrade_error *err)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    if (!backup)
        return fail_database(to, to_path, "write", err);
    int rc = sqlite3_backup_step(backup, -1);
    sqlite3_backup_finish(backup);
    if (is_damage(rc))
        return fail_damaged(from_path, sqlite3_errstr(rc), err);
    if (rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
        return fail_database(from, from_path, "read", err);
    if (rc != SQLITE_DONE)
        return fail_database(to, to_path, "write", err);
    if (sqlite3_exec(to, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL) != SQLITE_OK)
        return fail_database(to, to_path, "write", err);
    return 0;
}

/* Makes the copy in a file that has no name of its own yet, and checks it. */
static int write_copy(const char *from_path, const char *to_path, uint64_t *ret_bytes,
                      kgrade_error *err)
{
    cleanup_database sqlite3 *from = NULL, *to = NULL;
    if (open_database(from_path, &from, ret_bytes, err))
        return -1;
    if (sqlite3_open_v2(to_path, &to, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        return fail_database(to, to_path, "write", err);
    if (copy_database(from, from_path, to, to_path, err))
        return -1;
    json_auto_t *problems = find_problems(to, to_path, err);
    if (!problems)
        return -1;
    if (json_array_size(problems))
        return fail_damaged(from_path, json_string_value(json_array_get(problems, 0)), err);
    struct stat st;
    if (stat(to_path, &st) == 0)
        *ret_bytes = (uint64_t)st.st_size;
    return 0;
}

/* Gives the copy its name, unless something else has it. */
static int publish(int fd, const char *temporary, const char *path, kgrade_error *err)
{
    if (fsync(fd))
        return fail_errno(err, "backup_failed", NULL, "Cannot write %s", temporary);
    /* Not every file system knows how to rename without replacing; link(2) never replaces. */
    int rc = renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE);
    if (rc && (errno == EINVAL || errno == ENOSYS)) {
        rc = link(temporary, path);
        if (!rc)
            unlink(temporary);
    }
    if (rc && errno == EEXIST)
        return fail(err, "file_exists", "Choose another name, or remove the file first.",
                    "%s exists and is not overwritten.", path);
    if (rc)
        return fail_errno(err, "backup_failed", NULL, "Cannot create %s", path);
    cleanup_free char *copy = strdup(path);
    cleanup_close int folder = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder < 0 || fsync(folder))
        return fail_errno(err, "backup_failed", NULL, "Cannot write the folder of %s", path);
    return 0;
}

/* A copy that failed may have left the files that SQLite works with beside it. */
static void remove_copy(const char *temporary)
{
    static const char *const ends[] = {"", "-journal", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        cleanup_free char *name = NULL;
        if (asprintf(&name, "%s%s", temporary, ends[i]) < 0) {
            name = NULL; /* which is undefined now */
            continue;
        }
        unlink(name);
    }
}

static int make_backup(const char *from, const char *to, uint64_t *ret_bytes, kgrade_error *err)
{
    struct stat st;
    cleanup_free char *temporary = NULL;
    if (!lstat(to, &st))
        return fail(err, "file_exists", "Choose another name, or remove the file first.",
                    "%s exists and is not overwritten.", to);
    if (asprintf(&temporary, "%s.partial-XXXXXX", to) < 0)
        return fail(err, "backup_failed", NULL, "There is no memory for a name.");
    cleanup_close int fd = mkostemp(temporary, O_CLOEXEC); /* mode 0600: it holds others' sources */
    if (fd < 0)
        return fail_errno(err, "backup_failed", "The folder must exist and be writable.",
                          "Cannot create a file beside %s", to);
    if (!write_copy(from, temporary, ret_bytes, err) && !publish(fd, temporary, to, err))
        return 0;
    remove_copy(temporary);
    return -1;
}

enum cli_exit command_db_backup(const struct cli *cli)
{
    const char *from = cli->arguments[0], *to = cli->arguments[1];
    kgrade_error error = {0};
    uint64_t bytes = 0;
    if (make_backup(from, to, &bytes, &error))
        return complain(&error);
    if (cli->json)
        print_json(json_pack("{s:s, s:s, s:I}", "database", from, "backup", to, "bytes",
                             (json_int_t)bytes));
    else
        printf("%s: %.1f MB, checked.\n", to, (double)bytes / 1e6);
    return CLI_ACCEPTED;
}
