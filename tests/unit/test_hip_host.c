/* What of the HIP device needs no runtime: versions, targets, addresses, and a card's state in sysfs. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "grader/devices/hip/arena.h"
#include "grader/devices/hip/health.h"
#include "grader/devices/hip/runtime.h"
#include "sandbox/base/io.h"

static void a_version_is_known_to_be_bad(void **state)
{
    (void)state;
    static const struct {
        int version;
        const char *release, *target;
        bool refused, warned;
    } cases[] = {
        {70200001, "", "gfx942", true, false},
        {70226015, "7.2.1-81", "gfx942:sramecc+:xnack-", true, false},
        {70226015, "7.2.3", "gfx942", true, false},
        {70226015, "7.2.4-3", "gfx942", false, false},
        {70226015, "", "gfx942", true, false}, /* a build's number says nothing */
        {70200004, "", "gfx942", false, false},
        {70200001, "", "gfx90a", false, true},
        {70100001, "7.1.1", "gfx942", false, false},
        {70300000, "7.3.0", "gfx942", false, false},
        {60443482, "6.4.1-83", "gfx942", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kgrade_error err = {.code = ""};
        char warning[256];
        int result = runtime_check_version(cases[i].version, cases[i].release, cases[i].target,
                                           warning, sizeof warning, &err);
        assert_int_equal(result, cases[i].refused ? -1 : 0);
        assert_string_equal(err.code, cases[i].refused ? "runtime_known_bad" : "");
        assert_int_equal(warning[0] != '\0', cases[i].warned);
    }
}

static void a_version_as_text(void **state)
{
    (void)state;
    char text[32];
    runtime_version_text(60443482, text, sizeof text);
    assert_string_equal(text, "6.4.43482");
    runtime_version_text(50200003, text, sizeof text);
    assert_string_equal(text, "5.2.3");
}

static void the_target_is_found_behind_the_name(void **state)
{
    (void)state;
    char properties[1024] = "", target[64] = "";
    strcpy(properties, "AMD Radeon");
    strcpy(properties + 11, "gfx000"); /* inside the name's 256 bytes */
    assert_false(runtime_find_target(properties, sizeof properties, target, sizeof target));
    strcpy(properties + 396, "gfx90a:sramecc+:xnack-");
    assert_true(runtime_find_target(properties, sizeof properties, target, sizeof target));
    assert_string_equal(target, "gfx90a:sramecc+:xnack-");
    /* What does not end, or does not fit, is none. */
    memset(properties + 396, 'x', sizeof properties - 396);
    memcpy(properties + 396, "gfx", 3);
    assert_false(runtime_find_target(properties, sizeof properties, target, sizeof target));
    properties[396 + 63] = '\0';
    assert_true(runtime_find_target(properties, sizeof properties, target, sizeof target));
    properties[396 + 63] = 'x', properties[396 + 64] = '\0';
    assert_false(runtime_find_target(properties, sizeof properties, target, sizeof target));
}

static void pointers_are_moved_between_arenas(void **state)
{
    (void)state;
    const struct arena home = {.address = ARENA_HOME, .bytes = 4096},
                       away = {.address = 0x7f0000000000, .bytes = 4096};
    assert_true(arena_is_home(&home) && !arena_is_home(&away));
    assert_int_equal(arena_to_recording(&away, away.address + 12), ARENA_HOME + 12);
    assert_int_equal(arena_from_recording(&away, ARENA_HOME + 12), away.address + 12);
    /* One behind the end is an address that C has; two is not. */
    assert_int_equal(arena_to_recording(&away, away.address + 4096), ARENA_HOME + 4096);
    assert_int_equal(arena_to_recording(&away, away.address + 4097), away.address + 4097);
    assert_int_equal(arena_to_recording(&away, 0), 0);
    assert_int_equal(arena_from_recording(&home, ARENA_HOME + 12), ARENA_HOME + 12);
    assert_true(arena_holds(&away, away.address, 4096));
    assert_true(arena_holds(&away, away.address + 4096, 0));
    assert_false(arena_holds(&away, away.address + 1, 4096));
    assert_false(arena_holds(&away, away.address - 1, 1));
    assert_false(arena_holds(&away, away.address, UINT64_MAX));
}

static void what_could_be_a_pointer_is_seen(void **state)
{
    (void)state;
    uint32_t words[6] = {0};
    const uint64_t inside = ARENA_HOME + 100;
    assert_false(arena_could_point(words, sizeof words, ARENA_HOME, 4096));
    for (size_t at = 0; at <= 4; at++) {
        memset(words, 0, sizeof words);
        memcpy(words + at, &inside, sizeof inside);
        assert_true(arena_could_point(words, sizeof words, ARENA_HOME, 4096));
        assert_false(arena_could_point(words, at * 4 + 7, ARENA_HOME, 4096));
        assert_false(arena_could_point(words, sizeof words, ARENA_HOME, 99));
    }
    assert_false(arena_could_point(NULL, 0, ARENA_HOME, 4096));
}

/* --- sysfs --- */

static void put(const char *root, const char *name, const char *text)
{
    char path[512];
    kgrade_error err;
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    assert_int_equal(io_write_file(path, text, strlen(text), &err), 0);
}

static json_int_t number(const json_t *health, const char *key)
{
    return json_is_integer(json_object_get(health, key))
               ? json_integer_value(json_object_get(health, key))
               : -1;
}

static void a_card_tells_its_state(void **state)
{
    (void)state;
    char root[] = "/tmp/test_hip_host.XXXXXX";
    assert_non_null(mkdtemp(root));
    json_t *health = health_read(root);
    assert_int_equal(json_object_size(health), 0);
    json_decref(health);
    put(root, "class/drm/renderD127/device/vendor", "0x10de\n");
    put(root, "class/drm/renderD128/device/vendor", "0x1002\n");
    put(root, "class/drm/renderD128/device/pp_dpm_sclk", "0: 500Mhz\n1: 1700Mhz *\n");
    put(root, "class/drm/renderD128/device/pp_dpm_mclk", "0: 1600Mhz *\n");
    put(root, "class/drm/renderD128/device/hwmon/hwmon3/temp1_input", "41000\n");
    health = health_read(root);
    assert_int_equal(number(health, "sm_clock_mhz"), 1700);
    assert_int_equal(number(health, "memory_clock_mhz"), 1600);
    assert_int_equal(number(health, "temperature_c"), 41);
    assert_int_equal(number(health, "power_mw"), -1); /* there is no such file */
    json_decref(health);
    /* With two it is not known which one is used. */
    put(root, "class/drm/renderD129/device/vendor", "0x1002\n");
    health = health_read(root);
    assert_int_equal(json_object_size(health), 0);
    json_decref(health);
    assert_int_equal(io_remove_tree(root, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_version_is_known_to_be_bad),
        cmocka_unit_test(a_version_as_text),
        cmocka_unit_test(the_target_is_found_behind_the_name),
        cmocka_unit_test(pointers_are_moved_between_arenas),
        cmocka_unit_test(what_could_be_a_pointer_is_seen),
        cmocka_unit_test(a_card_tells_its_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
