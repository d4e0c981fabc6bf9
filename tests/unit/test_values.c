#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grader/devices/cuda/kernels.h"
#include "grader/task/values.h"

/* The same file compiled for a processor without vector instructions, under names of its own. */
#undef __x86_64__
#define values_philox plain_philox
#define values_fill plain_fill
#define values_poison plain_poison
#define values_canary plain_canary
__attribute__((noinline)) void plain_philox(const uint32_t counter[4], const uint32_t key[2],
                                            uint32_t out[4]);
__attribute__((noinline)) void plain_fill(void *to, enum dtype type, uint64_t first, size_t n,
                                          uint64_t count, const struct distribution *distribution,
                                          uint64_t seed, uint32_t param);
__attribute__((noinline)) void plain_poison(void *to, enum dtype type, uint64_t first, size_t n,
                                            uint64_t seed, uint32_t param);
__attribute__((noinline)) void plain_canary(void *to, size_t n, uint64_t seed, uint32_t param);
#include "grader/task/values.c" // NOLINT(bugprone-suspicious-include)
#undef values_philox
#undef values_fill
#undef values_poison
#undef values_canary

#define SEED 0x0123456789abcdefu
#define N 1500

static const struct distribution distributions[] = {
    {.kind = DISTRIBUTION_UNIFORM, .scale = 2, .offset = -1},
    {.kind = DISTRIBUTION_NORMAL, .scale = 3, .offset = 0.1},
    {.kind = DISTRIBUTION_INTEGER, .scale = 1, .low = -3, .high = 90},
    {.kind = DISTRIBUTION_PERMUTATION, .scale = 1},
    {.kind = DISTRIBUTION_SORTED, .scale = 100, .offset = 7},
};

#define N_DISTRIBUTIONS (sizeof distributions / sizeof *distributions)

static void test_philox_gives_the_published_vectors(void **state)
{
    (void)state;
    /* From kat_vectors of Random123, philox4x32 with 10 rounds. */
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } vectors[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < 3; i++) {
        uint32_t out[4];
        values_philox(vectors[i].counter, vectors[i].key, out);
        assert_memory_equal(out, vectors[i].out, sizeof out);
    }
}

/* The formulas of values.h, written down a second time without regard to speed. */

static void words(uint64_t i, uint32_t param, uint32_t use, uint64_t seed, uint32_t r[4])
{
    uint32_t counter[4] = {(uint32_t)i, (uint32_t)(i >> 32), param, use};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    values_philox(counter, key, r);
}

static uint32_t finaliser(uint32_t x)
{
    x ^= x >> 16, x *= 0x85ebca6b, x ^= x >> 13, x *= 0xc2b2ae35, x ^= x >> 16;
    return x;
}

static uint64_t documented_feistel(uint64_t i, uint64_t count, uint64_t seed, uint32_t param)
{
    unsigned h = 0;
    while ((uint64_t)pow(4, h) < count)
        h++;
    uint64_t side = 1ull << h;
    do {
        uint64_t left = i / side, right = i % side;
        for (uint32_t round = 0; round < 4; round++) {
            uint32_t r[4];
            words(round, param, 1, seed, r);
            uint64_t next = left ^ finaliser((uint32_t)right ^ r[0]) % side;
            left = right;
            right = next;
        }
        i = left * side + right;
    } while (i >= count);
    return i;
}

static double documented(const struct distribution *d, uint64_t i, uint64_t count, uint64_t seed,
                         uint32_t param)
{
    uint32_t r[4];
    words(i, param, 0, seed, r);
    double u = (double)(((uint64_t)r[0] << 21) + (r[1] >> 11)) * 0x1p-53, v = 0;
    switch (d->kind) {
    case DISTRIBUTION_UNIFORM:
        v = u;
        break;
    case DISTRIBUTION_NORMAL: {
        int64_t sum = -262140;
        for (int word = 0; word < 4; word++)
            sum += (r[word] >> 16) + (r[word] & 0xffff);
        v = (double)sum / sqrt(8 * (0x1p32 - 1) / 12);
        break;
    }
    case DISTRIBUTION_INTEGER: {
        unsigned __int128 product =
            (unsigned __int128)((uint64_t)r[1] << 32 | r[0]) * (uint64_t)(d->high - d->low + 1);
        v = (double)(d->low + (int64_t)(product >> 64));
        break;
    }
    case DISTRIBUTION_PERMUTATION: {
        uint64_t p = documented_feistel(i, count, seed, param);
        if (count > 1 && documented_feistel(0, count, seed, param) == 0)
            p = (p + 1) % count;
        v = (double)p;
        break;
    }
    case DISTRIBUTION_SORTED:
        v = ((double)i + u) / (double)count;
        break;
    }
    return fma(v, d->scale, d->offset);
}

static void test_values_follow_the_documentation(void **state)
{
    (void)state;
    static const enum dtype types[] = {DTYPE_F32, DTYPE_F64, DTYPE_F16, DTYPE_I32, DTYPE_I8};
    for (size_t k = 0; k < N_DISTRIBUTIONS; k++) {
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            uint64_t filled[N], expected[N];
            memset(filled, 0, sizeof filled);
            memset(expected, 0, sizeof expected);
            values_fill(filled, types[t], 0, N, N, &distributions[k], SEED, 3);
            for (size_t i = 0; i < N; i++)
                dtype_store_double(types[t], expected, i,
                                   documented(&distributions[k], i, N, SEED, 3));
            assert_memory_equal(filled, expected, sizeof filled);
        }
    }
}

static void test_indices_beyond_32_bits_count(void **state)
{
    (void)state;
    uint64_t first = (3ull << 32) - 5, count = 1ull << 40;
    for (size_t k = 0; k < N_DISTRIBUTIONS; k++) {
        double filled[16];
        values_fill(filled, DTYPE_F64, first, 16, count, &distributions[k], SEED, 0);
        for (size_t i = 0; i < 16; i++)
            assert_true(filled[i] == documented(&distributions[k], first + i, count, SEED, 0));
    }
}

static void test_some_values_never_change(void **state)
{
    (void)state;
    static const struct distribution normal = {.kind = DISTRIBUTION_NORMAL, .scale = 1};
    static const double expected[3] = {0x1.8fa019c394282p-1, 0x1.01c05acd89f5ep-1, 3};
    double filled[3];
    values_fill(&filled[0], DTYPE_F64, 0, 1, 10, &distributions[0], 1, 0);
    values_fill(&filled[1], DTYPE_F64, 1, 1, 10, &normal, 1, 0);
    values_fill(&filled[2], DTYPE_F64, 2, 1, 10, &distributions[3], 1, 0);
    for (size_t i = 0; i < 3; i++)
        assert_true(filled[i] == expected[i]);
}

static void test_pieces_make_the_whole(void **state)
{
    (void)state;
    static const size_t cuts[] = {0, 1, 8, 255, 256, 257, 700, 1023, N};
    for (size_t k = 0; k < N_DISTRIBUTIONS; k++) {
        float whole[N], pieces[N];
        values_fill(whole, DTYPE_F32, 0, N, N, &distributions[k], SEED, 1);
        for (size_t c = 0; c + 1 < sizeof cuts / sizeof *cuts; c++)
            values_fill(pieces + cuts[c], DTYPE_F32, cuts[c], cuts[c + 1] - cuts[c], N,
                        &distributions[k], SEED, 1);
        assert_memory_equal(whole, pieces, sizeof whole);
    }
    for (int type = 0; type < DTYPE_COUNT; type++) {
        uint64_t whole[N], pieces[N];
        size_t size = dtype_size((enum dtype)type);
        values_poison(whole, (enum dtype)type, 0, N, SEED, 1);
        for (size_t c = 0; c + 1 < sizeof cuts / sizeof *cuts; c++)
            values_poison((char *)pieces + cuts[c] * size, (enum dtype)type, cuts[c],
                          cuts[c + 1] - cuts[c], SEED, 1);
        assert_memory_equal(whole, pieces, N * size);
    }
}

static void test_every_processor_gives_the_same(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_DISTRIBUTIONS; k++) {
        float fast[N], plain[N];
        values_fill(fast, DTYPE_F32, 77, N, N + 77, &distributions[k], SEED, 2);
        plain_fill(plain, DTYPE_F32, 77, N, N + 77, &distributions[k], SEED, 2);
        assert_memory_equal(fast, plain, sizeof fast);
    }
    uint8_t fast[N], plain[N];
    values_poison(fast, DTYPE_U8, 13, N, SEED, 2);
    plain_poison(plain, DTYPE_U8, 13, N, SEED, 2);
    assert_memory_equal(fast, plain, sizeof fast);
    values_canary(fast, N, SEED, 2);
    plain_canary(plain, N, SEED, 2);
    assert_memory_equal(fast, plain, sizeof fast);
}

static void test_nothing_outside_is_written(void **state)
{
    (void)state;
    for (size_t n = 0; n < 40; n++) {
        uint8_t room[64];
        memset(room, 0xa5, sizeof room);
        values_canary(room + 8, n, SEED, 0);
        for (size_t i = 0; i < 8; i++)
            assert_int_equal(room[i], 0xa5);
        for (size_t i = 8 + n; i < sizeof room; i++)
            assert_int_equal(room[i], 0xa5);
    }
}

static void test_seeds_and_parameters_differ(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_DISTRIBUTIONS; k++) {
        float a[N], b[N], c[N];
        values_fill(a, DTYPE_F32, 0, N, N, &distributions[k], SEED, 0);
        values_fill(b, DTYPE_F32, 0, N, N, &distributions[k], SEED + (1ull << 32), 0);
        values_fill(c, DTYPE_F32, 0, N, N, &distributions[k], SEED, 1);
        assert_memory_not_equal(a, b, sizeof a);
        assert_memory_not_equal(a, c, sizeof a);
    }
}

static void test_moments(void **state)
{
    (void)state;
    enum { MANY = 200000 };
    static const struct {
        struct distribution distribution;
        double mean, variance, low, high;
    } cases[] = {
        {{.kind = DISTRIBUTION_UNIFORM, .scale = 1}, 0.5, 1 / 12., 0, 1},
        {{.kind = DISTRIBUTION_NORMAL, .scale = 1},
         0,
         1,
         -VALUES_NORMAL_LIMIT,
         VALUES_NORMAL_LIMIT},
        {{.kind = DISTRIBUTION_INTEGER, .scale = 1, .low = 0, .high = 9}, 4.5, 99 / 12., 0, 9},
    };
    double *v = malloc(MANY * sizeof *v);
    assert_non_null(v);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double sum = 0, squares = 0;
        values_fill(v, DTYPE_F64, 0, MANY, MANY, &cases[k].distribution, SEED, 0);
        for (size_t i = 0; i < MANY; i++) {
            assert_true(v[i] >= cases[k].low && v[i] <= cases[k].high);
            sum += v[i] - cases[k].mean;
            squares += (v[i] - cases[k].mean) * (v[i] - cases[k].mean);
        }
        /* Five standard errors. */
        assert_true(fabs(sum / MANY) < 5 * sqrt(cases[k].variance / MANY));
        assert_true(fabs(squares / MANY / cases[k].variance - 1) < 5 * sqrt(2. / MANY));
    }
    free(v);
}

static void test_integers_reach_both_ends_and_full_width(void **state)
{
    (void)state;
    struct distribution narrow = {.kind = DISTRIBUTION_INTEGER, .scale = 1, .low = -2, .high = 1};
    int8_t v[N];
    unsigned seen[4] = {0};
    values_fill(v, DTYPE_I8, 0, N, N, &narrow, SEED, 0);
    for (size_t i = 0; i < N; i++) {
        assert_in_range(v[i] + 2, 0, 3);
        seen[v[i] + 2]++;
    }
    for (size_t i = 0; i < 4; i++)
        assert_true(seen[i] > N / 5);
}

/* What the CUDA kernels do instead of a division. */
static void test_a_multiplication_divides_every_sum(void **state)
{
    (void)state;
    const int half = 8 * UINT16_MAX / 2;
    int differ = 0;
    for (int i = -half; i <= half; i++) {
        double x = i, quotient = x / VALUES_NORMAL_DIVISOR;
        double product = fma(x, KERNELS_NORMAL_INVERSE, x * KERNELS_NORMAL_REST);
        differ += product != quotient || !signbit(product) != !signbit(quotient);
    }
    assert_int_equal(half, 262140);
    assert_int_equal(differ, 0);
}

static void test_permutations_are_permutations(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 1000, 1024, 4097};
    struct distribution d = {.kind = DISTRIBUTION_PERMUTATION, .scale = 1};
    for (uint64_t seed = 0; seed < 50; seed++) {
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            size_t count = counts[k], at_home = 0;
            int32_t v[4097];
            bool seen[4097] = {false};
            values_fill(v, DTYPE_I32, 0, count, count, &d, seed, 0);
            for (size_t i = 0; i < count; i++) {
                assert_in_range(v[i], 0, count - 1);
                assert_false(seen[v[i]]);
                seen[v[i]] = true;
                at_home += (size_t)v[i] == i;
            }
            assert_true(count == 1 || at_home < count);
        }
    }
}

static void test_sorted_values_ascend(void **state)
{
    (void)state;
    struct distribution d = {.kind = DISTRIBUTION_SORTED, .scale = 1};
    double v[N];
    values_fill(v, DTYPE_F64, 0, N, N, &d, SEED, 0);
    for (size_t i = 1; i < N; i++)
        assert_true(v[i - 1] <= v[i]);
    assert_true(v[0] >= 0 && v[N - 1] <= 1);
}

static void test_poison_is_plausible_and_never_the_same(void **state)
{
    (void)state;
    for (int i = 0; i < DTYPE_COUNT; i++) {
        enum dtype type = (enum dtype)i;
        uint64_t a[N], b[N];
        values_poison(a, type, 0, N, SEED, 0);
        values_poison(b, type, 0, N, SEED + 1, 0);
        assert_memory_not_equal(a, b, 64 * dtype_size(type));
        size_t equal = 0;
        for (size_t j = 0; j < N; j++) {
            double v = dtype_load_double(type, a, j);
            assert_true(isfinite(v));
            if (dtype_is_float(type))
                assert_true(fabs(v) >= 0x1p-7 && fabs(v) < 0x1p9);
            if (type == DTYPE_BOOL)
                assert_true(v == 0 || v == 1);
            if (type == DTYPE_I32 || type == DTYPE_I64)
                assert_true(v >= -0x1p23 && v < 0x1p23);
            equal += v == dtype_load_double(type, b, j);
        }
        /* Few elements agree by chance; for bool every second does. */
        assert_true(equal < (type == DTYPE_BOOL ? N * 6 / 10 : N / 20));
    }
}

static void test_poison_follows_the_documentation(void **state)
{
    (void)state;
    float v[9];
    values_poison(v, DTYPE_F32, 3, 9, SEED, 5);
    for (size_t i = 0; i < 9; i++) {
        uint32_t r[4], bits;
        words((3 + i) / 4, 5, 2, SEED, r);
        bits = (r[(3 + i) % 4] & 0x87ffffffu) + (120u << 23);
        assert_memory_equal(&v[i], &bits, sizeof bits);
    }
    uint8_t canary[40];
    values_canary(canary, sizeof canary, SEED, 5);
    for (size_t i = 0; i < sizeof canary; i++) {
        uint32_t r[4];
        words(i / 16, 5, 3, SEED, r);
        assert_int_equal(canary[i], r[i % 16 / 4] >> 8 * (i % 4) & 0xff);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox_gives_the_published_vectors),
        cmocka_unit_test(test_values_follow_the_documentation),
        cmocka_unit_test(test_indices_beyond_32_bits_count),
        cmocka_unit_test(test_some_values_never_change),
        cmocka_unit_test(test_pieces_make_the_whole),
        cmocka_unit_test(test_every_processor_gives_the_same),
        cmocka_unit_test(test_nothing_outside_is_written),
        cmocka_unit_test(test_seeds_and_parameters_differ),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_integers_reach_both_ends_and_full_width),
        cmocka_unit_test(test_a_multiplication_divides_every_sum),
        cmocka_unit_test(test_permutations_are_permutations),
        cmocka_unit_test(test_sorted_values_ascend),
        cmocka_unit_test(test_poison_is_plausible_and_never_the_same),
        cmocka_unit_test(test_poison_follows_the_documentation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
