#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grader/devices/shared/runs.h"

#define GRAIN ((uint64_t)RUNS_GRAIN)

static void all_zero_is_one_run(void **state)
{
    (void)state;
    uint8_t *data = calloc(1, 3 * GRAIN + 5);
    struct run runs[4];
    assert_int_equal(runs_of(data, 3 * GRAIN + 5, runs, 4), 1);
    assert_true(runs[0].is_zero && runs[0].from == 0 && runs[0].bytes == 3 * GRAIN + 5);
    free(data);
}

static void the_last_byte_counts(void **state)
{
    (void)state;
    uint8_t *data = calloc(1, GRAIN + 3);
    struct run runs[4];
    data[GRAIN + 2] = 1;
    assert_int_equal(runs_of(data, GRAIN + 3, runs, 4), 2);
    assert_true(runs[0].is_zero && runs[0].bytes == GRAIN);
    assert_true(!runs[1].is_zero && runs[1].from == GRAIN && runs[1].bytes == 3);
    free(data);
}

static void runs_cover_everything_also_when_there_are_too_many(void **state)
{
    (void)state;
    uint8_t *data = calloc(1, 9 * GRAIN);
    for (uint64_t i = 0; i < 9; i += 2)
        data[i * GRAIN + i] = 7;
    for (size_t max = 1; max <= 10; max++) {
        struct run runs[10];
        uint64_t at = 0;
        size_t n = runs_of(data, 9 * GRAIN, runs, max);
        assert_true(n <= max && n == (max < 9 ? max : 9));
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(runs[i].from, at);
            at += runs[i].bytes;
            for (uint64_t k = runs[i].from; runs[i].is_zero && k < at; k++)
                assert_int_equal(data[k], 0);
        }
        assert_int_equal(at, 9 * GRAIN);
    }
    free(data);
}

static void nothing_has_no_runs(void **state)
{
    (void)state;
    struct run runs[1];
    assert_int_equal(runs_of((const uint8_t *)"", 0, runs, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_zero_is_one_run),
        cmocka_unit_test(the_last_byte_counts),
        cmocka_unit_test(runs_cover_everything_also_when_there_are_too_many),
        cmocka_unit_test(nothing_has_no_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
