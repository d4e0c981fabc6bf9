#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grader/task/dtype.h"

struct format {
    enum dtype type;
    int exponent_bits, mantissa_bits;
    double largest;
};

static const struct format formats[] = {
    {DTYPE_F16, 5, 10, 65504},
    {DTYPE_BF16, 8, 7, 0x1.fep127},
    {DTYPE_F8E4M3, 4, 3, 448},
    {DTYPE_F8E5M2, 5, 2, 57344},
};

#define N_FORMATS (sizeof formats / sizeof *formats)

static unsigned patterns_of(const struct format *f)
{
    return 1u << (1 + f->exponent_bits + f->mantissa_bits);
}

/* What a pattern means, from the definition of the format: a product of powers of two. */
static double meaning(const struct format *f, unsigned pattern)
{
    int bias = (1 << (f->exponent_bits - 1)) - 1;
    unsigned half = patterns_of(f) / 2, magnitude = pattern % half;
    int exponent = (int)(magnitude >> f->mantissa_bits);
    double fraction = (magnitude & ((1u << f->mantissa_bits) - 1)) / exp2(f->mantissa_bits);
    double value = exponent ? (1 + fraction) * exp2(exponent - bias) : fraction * exp2(1 - bias);
    if (value > f->largest) {
        bool is_infinity = f->type != DTYPE_F8E4M3 && fraction == 0;
        value = is_infinity ? INFINITY : NAN;
    }
    return pattern >= half ? -value : value;
}

static unsigned stored(const struct format *f, double value)
{
    uint16_t word = 0;
    uint8_t byte = 0;
    if (dtype_size(f->type) == 2) {
        dtype_store_double(f->type, &word, 0, value);
        return word;
    }
    dtype_store_double(f->type, &byte, 0, value);
    return byte;
}

static double loaded(const struct format *f, unsigned pattern)
{
    uint16_t word = (uint16_t)pattern;
    uint8_t byte = (uint8_t)pattern;
    return dtype_load_double(f->type, dtype_size(f->type) == 2 ? (void *)&word : (void *)&byte, 0);
}

static void assert_same_double(double a, double b)
{
    if (isnan(a) && isnan(b))
        return;
    assert_memory_equal(&a, &b, sizeof a);
}

static void test_every_pattern_has_its_meaning(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FORMATS; i++)
        for (unsigned pattern = 0; pattern < patterns_of(&formats[i]); pattern++)
            assert_same_double(loaded(&formats[i], pattern), meaning(&formats[i], pattern));
}

static void test_every_value_survives_storing(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FORMATS; i++) {
        for (unsigned pattern = 0; pattern < patterns_of(&formats[i]); pattern++) {
            double value = meaning(&formats[i], pattern);
            if (isnan(value))
                assert_true(isnan(loaded(&formats[i], stored(&formats[i], value))));
            else
                assert_int_equal(stored(&formats[i], value), pattern);
        }
    }
}

/* Rounding is monotone, so it is right everywhere when it is right at both sides of every halfway
 * point. */
static void test_halfway_points_go_to_even(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FORMATS; i++) {
        const struct format *f = &formats[i];
        unsigned sign = patterns_of(f) / 2;
        for (unsigned pattern = 0; meaning(f, pattern) < f->largest; pattern++) {
            double low = meaning(f, pattern), high = meaning(f, pattern + 1);
            double middle = (low + high) / 2;
            unsigned even = pattern & 1 ? pattern + 1 : pattern;
            assert_int_equal(stored(f, middle), even);
            assert_int_equal(stored(f, nextafter(middle, 0)), pattern);
            assert_int_equal(stored(f, nextafter(middle, INFINITY)), pattern + 1);
            assert_int_equal(stored(f, -middle), even | sign);
            assert_int_equal(stored(f, -nextafter(middle, INFINITY)), (pattern + 1) | sign);
        }
    }
}

static void test_overflow(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FORMATS; i++) {
        const struct format *f = &formats[i];
        double step = f->largest - meaning(f, stored(f, f->largest) - 1);
        double limit = f->largest + step / 2; /* from here on a value has no neighbour above */
        double end = f->type == DTYPE_F8E4M3 ? f->largest : INFINITY;
        assert_true(loaded(f, stored(f, nextafter(limit, 0))) == f->largest);
        assert_true(loaded(f, stored(f, limit)) == end);
        assert_true(loaded(f, stored(f, 1e300)) == end);
        assert_true(loaded(f, stored(f, -1e300)) == -end);
        assert_true(loaded(f, stored(f, INFINITY)) == end);
        assert_true(isnan(loaded(f, stored(f, NAN))));
        assert_int_equal(stored(f, 0.0), 0);
        assert_int_equal(stored(f, -0.0), patterns_of(f) / 2);
        assert_int_equal(stored(f, 0x1p-1074), 0);
        assert_int_equal(stored(f, 0x1p-1022), 0);
    }
}

static void test_integers_round_to_even_and_saturate(void **state)
{
    (void)state;
    static const struct {
        enum dtype type;
        double value, expected;
    } cases[] = {
        {DTYPE_I8, 2.5, 2},
        {DTYPE_I8, 3.5, 4},
        {DTYPE_I8, -2.5, -2},
        {DTYPE_I8, 127.4, 127},
        {DTYPE_I8, 1000, 127},
        {DTYPE_I8, -1000, -128},
        {DTYPE_U8, -1, 0},
        {DTYPE_U8, 255.5, 255},
        {DTYPE_U8, 0.5, 0},
        {DTYPE_I32, 2147483646.5, 2147483646},
        {DTYPE_I32, 1e300, 2147483647},
        {DTYPE_I32, -1e300, -2147483648.0},
        {DTYPE_I64, -1e300, -0x1p63},
        {DTYPE_I64, 0x1p52 + 0.5, 0x1p52},
        {DTYPE_BOOL, 0.5, 0},
        {DTYPE_BOOL, 0.51, 1},
        {DTYPE_BOOL, 7, 1},
        {DTYPE_BOOL, -7, 0},
        {DTYPE_I32, NAN, 0},
        {DTYPE_I32, INFINITY, 2147483647},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t room[2] = {-1, -1};
        dtype_store_double(cases[i].type, room, 1, cases[i].value);
        assert_true(dtype_load_double(cases[i].type, room, 1) == cases[i].expected);
    }
    int64_t largest;
    dtype_store_double(DTYPE_I64, &largest, 0, 0x1p63);
    assert_true(largest == INT64_MAX);
}

static void test_widening_agrees_with_loading(void **state)
{
    (void)state;
    uint64_t raw[64];
    for (size_t i = 0; i < 64; i++)
        raw[i] = (i + 1) * 0x9E3779B97F4A7C15u;
    for (int type = 0; type < DTYPE_COUNT; type++) {
        double numbers[64];
        int64_t integers[64];
        dtype_widen((enum dtype)type, raw, 64,
                    dtype_is_float((enum dtype)type) ? (void *)numbers : (void *)integers);
        for (size_t i = 0; i < 64; i++) {
            double expected = dtype_load_double((enum dtype)type, raw, i);
            if (dtype_is_float((enum dtype)type))
                assert_same_double(numbers[i], expected);
            else
                assert_true((double)integers[i] == expected);
        }
    }
}

static void test_names(void **state)
{
    (void)state;
    static const size_t sizes[DTYPE_COUNT] = {8, 4, 2, 2, 1, 1, 1, 1, 4, 8, 1};
    for (int type = 0; type < DTYPE_COUNT; type++) {
        enum dtype found;
        assert_true(dtype_parse(dtype_name((enum dtype)type), &found));
        assert_int_equal(found, type);
        assert_int_equal(dtype_size((enum dtype)type), sizes[type]);
    }
    enum dtype found = DTYPE_I8;
    assert_false(dtype_parse("f31", &found));
    assert_false(dtype_parse("", &found));
    assert_int_equal(found, DTYPE_I8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pattern_has_its_meaning),
        cmocka_unit_test(test_every_value_survives_storing),
        cmocka_unit_test(test_halfway_points_go_to_even),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_integers_round_to_even_and_saturate),
        cmocka_unit_test(test_widening_agrees_with_loading),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
