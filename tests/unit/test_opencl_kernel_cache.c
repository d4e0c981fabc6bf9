/* A runtime's cache as bytes: what is packed comes out again, and nothing that could not have been packed does. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "grader/devices/opencl/kernel_cache.h"
#include "sandbox/base/cleanup.h"

static char from[] = "/tmp/kgrade-cache-a-XXXXXX", to[] = "/tmp/kgrade-cache-b-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    strcpy(from + sizeof from - 7, "XXXXXX");
    strcpy(to + sizeof to - 7, "XXXXXX");
    return mkdtemp(from) && mkdtemp(to) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return io_remove_tree(from, NULL) || io_remove_tree(to, NULL) ? -1 : 0;
}

static void put(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s/%s", from, path);
    *strrchr(whole, '/') = 0;
    assert_int_equal(io_make_dirs(whole, NULL), 0);
    snprintf(whole, sizeof whole, "%s/%s", from, path);
    assert_int_equal(io_write_file(whole, text, strlen(text), NULL), 0);
}

static bool is_there(const char *path, const char *text)
{
    char whole[512];
    cleanup_bytes struct bytes got = {0};
    snprintf(whole, sizeof whole, "%s/%s", to, path);
    return !io_read_file(whole, 4096, &got, NULL) && got.size == strlen(text) &&
           !memcmp(got.data, text, got.size);
}

static void what_is_packed_comes_out(void **state)
{
    (void)state;
    cleanup_bytes struct bytes packed = {0};
    kgrade_error err = {.code = ""};
    char path[512], link_path[512];
    put("AB/CDEF/program.bc", "bitcode");
    put("AB/CDEF/add/512-1-1-goffs0-smallgrid/add.so", "code");
    put("AB/CDEF/last_accessed", "");
    put("tempfile_x1", "not kept");
    snprintf(path, sizeof path, "%s/AB/CDEF/program.bc", from);
    snprintf(link_path, sizeof link_path, "%s/AB/link", from);
    assert_int_equal(symlink(path, link_path), 0);
    snprintf(link_path, sizeof link_path, "%s/AB/fifo", from);
    assert_int_equal(mkfifo(link_path, 0600), 0);

    assert_int_equal(kernel_cache_pack(from, &packed, &err), 0);
    assert_int_equal(kernel_cache_unpack(to, &packed, &err), 0);
    assert_true(is_there("AB/CDEF/program.bc", "bitcode"));
    assert_true(is_there("AB/CDEF/add/512-1-1-goffs0-smallgrid/add.so", "code"));
    assert_true(is_there("AB/CDEF/last_accessed", ""));
    assert_false(is_there("tempfile_x1", "not kept"));
    snprintf(path, sizeof path, "%s/AB/link", to);
    assert_int_equal(access(path, F_OK), -1);
    snprintf(path, sizeof path, "%s/AB/fifo", to);
    assert_int_equal(access(path, F_OK), -1);
}

static void no_folder_is_an_empty_one(void **state)
{
    (void)state;
    cleanup_bytes struct bytes packed = {0};
    kgrade_error err = {.code = ""};
    assert_int_equal(kernel_cache_pack("/nonexistent/folder", &packed, &err), 0);
    assert_int_equal(packed.size, 0);
    assert_int_equal(kernel_cache_unpack(to, &packed, &err), 0);
}

/* One file as kernel_cache_pack would write it, whatever its name. */
static struct bytes entry(const char *path, size_t length)
{
    const uint32_t sizes[2] = {(uint32_t)length, 2};
    struct bytes b = {malloc(sizeof sizes + length + 2), sizeof sizes + length + 2};
    assert_non_null(b.data);
    memcpy(b.data, sizes, sizeof sizes);
    memcpy(b.data + sizeof sizes, path, length);
    memcpy(b.data + sizeof sizes + length, "ab", 2);
    return b;
}

static void paths_stay_inside(void **state)
{
    (void)state;
    static const char *const bad[] = {"/etc/x", "../x", "a/../x",   "a//x", "a/",  "",
                                      ".x",     "a/.x", "a b/x.so", "a\\x", "a\n", "\xc3\xa4"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cleanup_bytes struct bytes b = entry(bad[i], strlen(bad[i]));
        kgrade_error err = {.code = ""};
        if (kernel_cache_unpack(to, &b, &err) != -1 || strcmp(err.code, "recording_invalid"))
            fail_msg("\"%s\" was taken", bad[i]);
    }
    cleanup_bytes struct bytes with_nul = entry("a\0b", 3), good = entry("a/b.so", 6);
    kgrade_error err = {.code = ""};
    assert_int_equal(kernel_cache_unpack(to, &with_nul, &err), -1);
    assert_int_equal(kernel_cache_unpack(to, &good, &err), 0);
    assert_true(is_there("a/b.so", "ab"));
}

static void every_cut_is_refused(void **state)
{
    (void)state;
    cleanup_bytes struct bytes whole = entry("a/b.so", 6);
    for (size_t n = 1; n < whole.size; n++) {
        /* A copy of its own, so that a sanitizer sees what is read behind the end. */
        cleanup_bytes struct bytes cut = {malloc(n), n};
        kgrade_error err = {.code = ""};
        assert_non_null(cut.data);
        memcpy(cut.data, whole.data, n);
        assert_int_equal(kernel_cache_unpack(to, &cut, &err), -1);
        assert_string_equal(err.code, "recording_invalid");
    }
}

static void lengths_do_not_wrap(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{1, UINT32_MAX}, {UINT32_MAX, 1}, {UINT32_MAX, UINT32_MAX}};
    for (size_t i = 0; i < 3; i++) {
        cleanup_bytes struct bytes b = entry("abcdef", 6);
        kgrade_error err = {.code = ""};
        memcpy(b.data, sizes[i], sizeof sizes[i]);
        assert_int_equal(kernel_cache_unpack(to, &b, &err), -1);
        assert_string_equal(err.code, "recording_invalid");
    }
}

static void limits(void **state)
{
    (void)state;
    kgrade_error err = {.code = ""};
    cleanup_bytes struct bytes packed = {0};
    char path[64];
    for (unsigned i = 0; i < KERNEL_CACHE_MAX_FILES; i++) {
        snprintf(path, sizeof path, "d/%u", i);
        put(path, "x");
    }
    assert_int_equal(kernel_cache_pack(from, &packed, &err), 0);
    assert_int_equal(kernel_cache_unpack(to, &packed, &err), 0);
    put("d/more", "x");
    cleanup_bytes struct bytes more = {0};
    assert_int_equal(kernel_cache_pack(from, &more, &err), -1);
    assert_string_equal(err.code, "recording_invalid");

    /* One file more than may be packed. */
    cleanup_bytes struct bytes one = entry("z", 1), many = {malloc(packed.size + one.size), 0};
    assert_non_null(many.data);
    memcpy(many.data, packed.data, packed.size);
    memcpy(many.data + packed.size, one.data, one.size);
    many.size = packed.size + one.size;
    assert_int_equal(kernel_cache_unpack(to, &many, &err), -1);
    assert_string_equal(err.code, "recording_invalid");

    snprintf(path, sizeof path, "%s/d/more", from);
    assert_int_equal(truncate(path, KERNEL_CACHE_MAX_BYTES), 0);
    err.code[0] = 0;
    assert_int_equal(io_remove_tree(to, NULL), 0);
    assert_int_equal(kernel_cache_pack(from, &more, &err), -1);
    assert_string_equal(err.code, "recording_invalid");
    assert_int_equal(mkdir(to, 0700), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_packed_comes_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_folder_is_an_empty_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(paths_stay_inside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_cut_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lengths_do_not_wrap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(limits, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
