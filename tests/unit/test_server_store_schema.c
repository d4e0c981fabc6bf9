/*
 * The schema: databases of every version that was published, kept as SQL in store_versions/N.sql, are
 * opened and come out as the version of today; and the mechanism of migration by itself.
 */
#define _GNU_SOURCE
#include "store_help.h"

#include "server/store/database.h"
#include "server/store/schema.h"

static sqlite3 *open_database(void)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    return db;
}

static void run_sql(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        print_error("%s: %s\n", message, sql);
    assert_null(message);
}

static int64_t number(sqlite3 *db, const char *sql)
{
    int64_t value;
    assert_int_equal(database_number(db, sql, &value), SQLITE_OK);
    return value;
}

/* --- The mechanism, with tables of its own ------------------------------------------------------ */

static const char *const steps[] = {
    "CREATE TABLE t (a INTEGER NOT NULL) STRICT; INSERT INTO t VALUES (1), (2);",
    "ALTER TABLE t ADD COLUMN b INTEGER NOT NULL DEFAULT 0; UPDATE t SET b = 10 * a;",
    "CREATE TABLE u AS SELECT a + b AS c FROM t; DROP TABLE t;",
};

static void test_migration(void **state)
{
    (void)state;
    for (unsigned from = 0; from <= 3; from++) {
        unlink(path);
        sqlite3 *db = open_database();
        kgrade_error error;
        struct schema old = {steps, from}, now = {steps, 3};
        assert_int_equal(schema_migrate(db, path, &old, &error), 0);
        assert_int_equal(number(db, "PRAGMA user_version"), from);
        if (from == 1)
            run_sql(db, "INSERT INTO t VALUES (5)");
        assert_int_equal(schema_migrate(db, path, &now, &error), 0);
        assert_int_equal(number(db, "PRAGMA user_version"), 3);
        assert_int_equal(number(db, "PRAGMA application_id"), SCHEMA_APPLICATION_ID);
        assert_int_equal(number(db, "SELECT sum(c) FROM u"), from == 1 ? 88 : 33);
        sqlite3_close(db);
    }
}

static void test_failed_step_changes_nothing(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "CREATE TABLE t (a INTEGER) STRICT; INSERT INTO t VALUES (1);",
        "UPDATE t SET a = 2; INSERT INTO missing VALUES (1);",
    };
    sqlite3 *db = open_database();
    kgrade_error error;
    struct schema old = {bad, 1}, now = {bad, 2};
    assert_int_equal(schema_migrate(db, path, &old, &error), 0);
    assert_int_equal(schema_migrate(db, path, &now, &error), -1);
    assert_string_equal(error.code, "store_failed");
    assert_non_null(strstr(error.message, "version 2"));
    assert_int_equal(number(db, "PRAGMA user_version"), 1);
    assert_int_equal(number(db, "SELECT a FROM t"), 1);
    assert_int_equal(schema_migrate(db, path, &old, &error), 0);
    sqlite3_close(db);
}

static void assert_not_opened(const char *code)
{
    struct store *store = NULL;
    kgrade_error error = {0};
    assert_int_equal(store_open(path, &store, &error), -1);
    assert_string_equal(error.code, code);
    assert_true(error.hint[0]);
}

static void test_newer_is_left_alone(void **state)
{
    (void)state;
    close_store(open_store());
    sqlite3 *db = open_database();
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA user_version = %u", store_schema.n_steps + 1);
    run_sql(db, sql);
    sqlite3_close(db);
    assert_not_opened("store_newer");
}

static void test_foreign_is_left_alone(void **state)
{
    (void)state;
    sqlite3 *db = open_database();
    run_sql(db, "CREATE TABLE songs (name TEXT)");
    sqlite3_close(db);
    assert_not_opened("store_failed");
    db = open_database();
    assert_int_equal(number(db, "SELECT count(*) FROM sqlite_schema"), 1);
    sqlite3_close(db);
}

/* --- Published versions ------------------------------------------------------------------------- */

static void load_version(unsigned version)
{
    char name[512];
    cleanup_bytes struct bytes sql = {0};
    snprintf(name, sizeof name, "%s/tests/unit/store_versions/%u.sql", KGRADE_SOURCE_DIR, version);
    assert_int_equal(io_read_file(name, 1 << 20, &sql, NULL), 0);
    unlink(path);
    sqlite3 *db = open_database();
    run_sql(db, (const char *)sql.data);
    assert_int_equal(number(db, "PRAGMA user_version"), version);
    sqlite3_close(db);
}

/* Each file holds the same five grades, as far as its version could tell. */
static void check_contents(struct store *store, unsigned version)
{
    struct store_row row;
    static const char *const ids[] = {
        "018bcfe5687b00000000000000000001", "018bcfe5687b00000000000000000002",
        "018bcfe5687b00000000000000000003", "018bcfe5687b00000000000000000004",
        "018bcfe5687b00000000000000000005"};
    json_auto_t *list = store_list(store, NULL, NULL, 100, NULL);
    assert_int_equal(json_array_size(list), 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(list, 4 - i), "id")),
                            ids[i]);

    assert_int_equal(store_get(store, ids[0], STORE_WITH_RESULT | STORE_WITH_SOURCE, &row, NULL),
                     0);
    assert_int_equal(row.state, STORE_DONE);
    assert_string_equal(row.verdict, "accepted");
    assert_true(row.score == 1.5);
    assert_string_equal(row.result, "{\"score\": 1.5}");
    assert_string_equal(row.source, "int x;\n");
    assert_int_equal(row.created_ms, 1700000000123);
    assert_int_equal(row.started_ms, 1700000001000);
    assert_int_equal(row.ended_ms, 1700000005000);
    store_row_free(&row);
    assert_int_equal(store_get(store, ids[1], 0, &row, NULL), 0);
    assert_string_equal(row.verdict, "wrong_answer");
    assert_string_equal(row.code, "mismatch");
    assert_int_equal(store_get(store, ids[2], 0, &row, NULL), 0);
    assert_int_equal(row.state, STORE_CANCELLED);
    /* One was running when the process that wrote it ended, one was queued. */
    assert_int_equal(store_get(store, ids[3], 0, &row, NULL), 0);
    assert_int_equal(row.state, STORE_QUEUED);
    assert_int_equal(row.attempts, 1);
    assert_int_equal(store_find_key(store, "bob", "key", &row, NULL), 0);
    assert_string_equal(row.id, ids[4]);
    assert_int_equal(row.deadline_ms, version >= 2 ? 1700000999000 : 0);
    assert_int_equal(row.profile, version >= 3);

    json_auto_t *board = store_leaderboard(store, "vector_add", "opencl", 10, NULL);
    const json_t *entries = json_object_get(board, "entries");
    assert_int_equal(json_array_size(entries), 2);
    const json_t *first = json_array_get(entries, 0);
    assert_string_equal(json_string_value(json_object_get(first, "owner")), "alice");
    assert_true(json_real_value(json_object_get(first, "score_low")) == 1.25);
}

static void test_every_version_opens(void **state)
{
    (void)state;
    for (unsigned version = 1; version <= store_schema.n_steps; version++) {
        load_version(version);
        struct store *store = open_store();
        check_contents(store, version);
        char id[STORE_ID_SIZE];
        struct store_request r = request(id);
        add(store, &r);
        close_store(store);
        assert_sound();
        sqlite3 *db = open_database();
        assert_int_equal(number(db, "PRAGMA user_version"), store_schema.n_steps);
        sqlite3_close(db);
    }
}

static int describe_row(void *data, int n, char **values, char **names)
{
    (void)n, (void)names;
    strncat(data, values[0], 16000 - strlen(data) - 1);
    strcat(data, "\n");
    return 0;
}

/* A database that was migrated has the tables of one that was made today. */
static void test_migrated_equals_new(void **state)
{
    (void)state;
    static char migrated[16384], fresh[16384];
    static const char *const all = "SELECT type || name || coalesce(sql, '') FROM sqlite_schema"
                                   " ORDER BY type, name";
    sqlite3 *db;
    close_store(open_store());
    db = open_database();
    assert_int_equal(sqlite3_exec(db, all, describe_row, fresh, NULL), SQLITE_OK);
    sqlite3_close(db);
    for (unsigned version = 1; version <= store_schema.n_steps; version++) {
        migrated[0] = 0;
        load_version(version);
        close_store(open_store());
        db = open_database();
        assert_int_equal(sqlite3_exec(db, all, describe_row, migrated, NULL), SQLITE_OK);
        sqlite3_close(db);
        assert_string_equal(migrated, fresh);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_folder, tear_down_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_migration),           TEST(test_failed_step_changes_nothing),
        TEST(test_newer_is_left_alone), TEST(test_foreign_is_left_alone),
        TEST(test_every_version_opens), TEST(test_migrated_equals_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
