/* What the device is asked to make is what task/values.c makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grader/devices/cuda/inputs.h"
#include "grader/task/values.h"

#define SEED 0xfedcba9876543210ull

static struct layout_buffer buffer_of(enum dtype dtype, uint64_t count)
{
    return (struct layout_buffer){.param = 3,
                                  .offset = 8192,
                                  .count = count,
                                  .bytes = count * dtype_size(dtype),
                                  .canary = 100};
}

static uint32_t mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ x >> 16;
}

static uint64_t permuted(const struct kernels_fill *f, uint64_t i)
{
    uint32_t mask = (uint32_t)((1ull << f->half_bits) - 1);
    do {
        uint32_t left = (uint32_t)(i >> f->half_bits), right = (uint32_t)i & mask;
        for (int round = 0; round < 4; round++) {
            uint32_t next = left ^ (mix(right ^ f->keys[round]) & mask);
            left = right;
            right = next;
        }
        i = (uint64_t)left << f->half_bits | right;
    } while (i >= f->count);
    return f->rotate ? (i + 1) % f->count : i;
}

static void permutations_have_the_same_keys_and_rotation(void **state)
{
    (void)state;
    struct param param = {.kind = PARAM_IN, .dtype = DTYPE_I64};
    unsigned rotated = 0;
    for (uint64_t count = 1; count < 200; count += count < 20 ? 1 : 37)
        for (uint64_t seed = SEED; seed < SEED + 30; seed++) {
            struct layout_buffer buffer = buffer_of(DTYPE_I64, count);
            buffer.values = (struct distribution){.kind = DISTRIBUTION_PERMUTATION, .scale = 1};
            struct kernels_fill f = inputs_fill(0x600000000000ull, &param, &buffer, seed);
            int64_t expected[200];
            values_fill(expected, DTYPE_I64, 0, count, count, &buffer.values, seed, 3);
            rotated += f.rotate;
            for (uint64_t i = 0; i < count; i++)
                assert_int_equal(permuted(&f, i), expected[i]);
        }
    assert_true(rotated > 0); /* both ways were tried */
}

static void poison_has_the_same_rule_for_every_type(void **state)
{
    (void)state;
    for (int type = 0; type < DTYPE_COUNT; type++) {
        struct param param = {.kind = PARAM_OUT, .dtype = (enum dtype)type};
        struct layout_buffer buffer = buffer_of(param.dtype, 64);
        struct kernels_poison p = inputs_poison(0x600000000000ull, &param, &buffer, SEED);
        uint8_t expected[64 * 8], raw[64 * 8];
        assert_int_equal(p.to, 0x600000002000ull);
        assert_int_equal(p.bytes, 64 * p.size);
        values_poison(expected, param.dtype, 0, 64, SEED, 3);
        for (uint32_t block = 0; block < p.bytes / 16; block++) {
            const uint32_t counter[4] = {block, 0, p.param, KERNELS_POISON},
                           key[2] = {p.seed_low, p.seed_high};
            uint32_t out[4];
            values_philox(counter, key, out);
            memcpy(raw + 16 * block, out, 16);
        }
        for (uint64_t at = 0; at < p.bytes; at += p.size) {
            uint64_t bits = 0;
            memcpy(&bits, raw + at, p.size);
            bits = (bits & p.keep) + p.add;
            assert_memory_equal(&bits, expected + at, p.size);
        }
    }
}

static void canaries_follow_the_data(void **state)
{
    (void)state;
    struct layout_buffer buffer = buffer_of(DTYPE_F32, 5);
    struct kernels_canary c = inputs_canary(0x600000000000ull, &buffer, SEED);
    uint8_t expected[100], got[112];
    assert_int_equal(c.to, 0x600000002000ull + 20);
    assert_int_equal(c.bytes, 100);
    values_canary(expected, sizeof expected, SEED, 3);
    for (uint32_t block = 0; block < 7; block++) {
        const uint32_t counter[4] = {block, 0, c.param, KERNELS_CANARY},
                       key[2] = {c.seed_low, c.seed_high};
        uint32_t out[4];
        values_philox(counter, key, out);
        memcpy(got + 16 * block, out, 16);
    }
    assert_memory_equal(got, expected, sizeof expected);
}

static void the_distribution_reaches_the_device(void **state)
{
    (void)state;
    struct param param = {.kind = PARAM_INOUT, .dtype = DTYPE_BF16};
    struct layout_buffer buffer = buffer_of(DTYPE_BF16, 11);
    buffer.values = (struct distribution){
        .kind = DISTRIBUTION_INTEGER, .scale = 2, .offset = -3, .low = -7, .high = 9};
    struct kernels_fill f = inputs_fill(4096, &param, &buffer, SEED);
    assert_int_equal(f.to, 4096 + 8192);
    assert_int_equal(f.count, 11);
    assert_int_equal(f.distribution, KERNELS_INTEGER);
    assert_int_equal(f.dtype, DTYPE_BF16);
    assert_int_equal(f.param, 3);
    assert_true(f.low == -7 && f.high == 9 && f.scale == 2 && f.offset == -3);
    assert_int_equal((uint64_t)f.seed_high << 32 | f.seed_low, SEED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permutations_have_the_same_keys_and_rotation),
        cmocka_unit_test(poison_has_the_same_rule_for_every_type),
        cmocka_unit_test(canaries_follow_the_data),
        cmocka_unit_test(the_distribution_reaches_the_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
