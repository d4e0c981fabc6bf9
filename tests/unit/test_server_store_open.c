/* Opening the store: who may, what it finds, what it leaves on the disk. */
#define _GNU_SOURCE
#include "store_help.h"

#include <sys/stat.h>

static void assert_not_opened(const char *code)
{
    struct store *store = NULL;
    kgrade_error error = {0};
    assert_int_equal(store_open(path, &store, &error), -1);
    assert_string_equal(error.code, code);
    assert_non_null(strstr(error.message, path));
    assert_true(error.hint[0]);
    assert_null(store);
}

static void test_only_one_has_it(void **state)
{
    (void)state;
    struct store *store = open_store();
    assert_not_opened("store_busy");
    close_store(store);
    close_store(open_store());
}

static void test_files_are_private(void **state)
{
    (void)state;
    struct store *store = open_store();
    static const char *const ends[] = {"", "-wal", "-shm", "-lock"};
    for (int i = 0; i < 4; i++) {
        char name[100];
        struct stat st;
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        assert_int_equal(stat(name, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
    }
    close_store(store);
    /* Alone, and complete. */
    char name[100];
    snprintf(name, sizeof name, "%s-wal", path);
    assert_int_equal(access(name, F_OK), -1);
}

static void overwrite(long offset, const void *data, size_t size)
{
    FILE *file = fopen(path, "r+e");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static void test_damage_is_seen(void **state)
{
    (void)state;
    char id[STORE_ID_SIZE], garbage[4096];
    struct store *store = open_store();
    for (int i = 0; i < 200; i++) {
        struct store_request r = request(id);
        struct store_end end = accepted(1);
        add(store, &r);
        store_finish(store, id, &end, NULL, NULL);
    }
    close_store(store);
    memset(garbage, 0x5a, sizeof garbage);
    overwrite(5 * 4096, garbage, sizeof garbage);
    assert_not_opened("store_damaged");
    overwrite(0, garbage, 100);
    assert_not_opened("store_damaged");
    assert_int_equal(truncate(path, 5000), 0);
    assert_not_opened("store_damaged");
}

static void test_bad_places(void **state)
{
    (void)state;
    char missing[100];
    struct store *store = NULL;
    kgrade_error error;
    snprintf(missing, sizeof missing, "%s/none/grades.db", folder);
    assert_int_equal(store_open(missing, &store, &error), -1);
    assert_string_equal(error.code, "store_failed");
    assert_int_equal(store_open(folder, &store, &error), -1);
    assert_string_equal(error.code, "store_failed");
    snprintf(missing, sizeof missing, "%s-lock", folder);
    unlink(missing);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_folder, tear_down_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_only_one_has_it),
        TEST(test_files_are_private),
        TEST(test_damage_is_seen),
        TEST(test_bad_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
