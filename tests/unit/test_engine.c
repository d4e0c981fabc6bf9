/* What an engine leaves behind, and what it finds. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "grader/kgrade.h"
#include "grader/quote.h"
#include "sandbox/base/io.h"

static const kgrade_options options = {.prefix = KGRADE_BUILD_DIR, .allow_reduced = true};
static char folder[64];

static int own_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/test-engine.XXXXXX");
    assert_non_null(mkdtemp(folder));
    return setenv("TMPDIR", folder, 1);
}

static int remove_folder(void **state)
{
    (void)state;
    unsetenv("TMPDIR");
    return io_remove_tree(folder, NULL);
}

static void make_left_over(const char *name, char *ret_path)
{
    char lock[160];
    sprintf(ret_path, "%s/%s", folder, name);
    assert_int_equal(mkdir(ret_path, 0700), 0);
    sprintf(lock, "%s/lock", ret_path);
    close(open(lock, O_CREAT | O_RDWR, 0600));
}

static void folders_of_the_dead_are_swept_and_those_of_the_living_are_not(void **state)
{
    (void)state;
    char dead[128], living[128], lock[160];
    kgrade *engine;
    make_left_over("kgrade.dead01", dead);
    make_left_over("kgrade.live01", living);
    sprintf(lock, "%s/lock", living);
    int held = open(lock, O_RDWR);
    assert_int_equal(flock(held, LOCK_EX), 0);
    assert_int_equal(kgrade_open(&options, &engine, NULL), 0);
    assert_int_equal(access(dead, F_OK), -1);
    assert_int_equal(access(living, F_OK), 0);
    kgrade_close(engine);
    close(held);
    assert_int_equal(io_remove_tree(living, NULL), 0);
    assert_int_equal(rmdir(folder), 0); /* empty: the engine took its own away */
    assert_int_equal(mkdir(folder, 0700), 0);
}

static void bad_requests_have_codes(void **state)
{
    (void)state;
    static char big[KGRADE_MAX_SOURCE_BYTES + 1];
    memset(big, ' ', sizeof big);
    const struct {
        kgrade_request request;
        const char *code;
    } cases[] = {
        {{"no_such_task", "opencl", NULL, "x", 1, NULL, false}, "unknown_task"},
        {{NULL, "opencl", NULL, "x", 1, NULL, false}, "unknown_task"},
        {{"matmul", "abacus", NULL, "x", 1, NULL, false}, "unknown_device"},
        {{"matmul", "opencl", "cobol", "x", 1, NULL, false}, "unknown_language"},
        {{"matmul", "opencl", "c", "", 0, NULL, false}, "empty_source"},
        {{"matmul", "opencl", "c", big, sizeof big, NULL, false}, "source_too_large"},
        {{"matmul", "opencl", "c", "\xff", 1, NULL, false}, "source_not_utf8"},
        {{"matmul", "opencl", "c", "a\0b", 3, NULL, false}, "source_not_utf8"},
        {{"matmul", "opencl", "c", "x", 1, "", false}, "bad_id"},
        {{"matmul", "opencl", "c", "x", 1, "0123456789abcdef0123456789abcde", false}, "bad_id"},
        {{"matmul", "opencl", "c", "x", 1, "0123456789abcdef0123456789abcdef0", false}, "bad_id"},
        {{"matmul", "opencl", "c", "x", 1, "0123456789ABCDEF0123456789ABCDEF", false}, "bad_id"},
    };
    kgrade *engine;
    assert_int_equal(kgrade_open(&options, &engine, NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kgrade_error err;
        assert_int_equal(kgrade_check_request(engine, &cases[i].request, &err), -1);
        assert_string_equal(err.code, cases[i].code);
        assert_true(err.message[0] && err.hint[0]);
    }
    const kgrade_request good = {
        "matmul", "opencl", "c", "x", 1, "0123456789abcdef0123456789abcdef", false};
    assert_int_equal(kgrade_check_request(engine, &good, NULL), 0);
    kgrade_close(engine);
}

static void a_folder_without_tasks_is_an_error(void **state)
{
    (void)state;
    kgrade_options nowhere = options;
    kgrade_error err;
    kgrade *engine;
    nowhere.tasks = "/nowhere";
    assert_int_equal(kgrade_open(&nowhere, &engine, &err), -1);
    assert_string_equal(err.code, "tasks_unreadable");
}

static void quotes_end_between_characters(void **state)
{
    (void)state;
    char text[80];
    assert_string_equal(quote(NULL).text, "");
    assert_string_equal(quote("abc").text, "abc");
    memset(text, 'a', 63);
    strcpy(text + 63, "\xc3\xa9xyz"); /* two bytes across the limit */
    assert_int_equal(strlen(quote(text).text), 63);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            folders_of_the_dead_are_swept_and_those_of_the_living_are_not, own_folder,
            remove_folder),
        cmocka_unit_test(bad_requests_have_codes),
        cmocka_unit_test(a_folder_without_tasks_is_an_error),
        cmocka_unit_test(quotes_end_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
