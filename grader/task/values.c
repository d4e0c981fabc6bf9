/*
 * Values are made in blocks: first the raw Philox words of the block, word by word in arrays of
 * their own, then the transformation, then the conversion; each a plain loop that the compiler
 * vectorises.  The same loops are compiled for what the processor has; all of them give the same
 * bits, because every step is exact in integers or one correctly rounded operation.
 */
#include "values.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define VALUES_AVX2 1
#endif

#define always_inline static inline __attribute__((always_inline))

/* The last counter word. */
enum stream { STREAM_VALUES, STREAM_PERMUTATION, STREAM_POISON, STREAM_CANARY };

#define BLOCK 256 /* elements; a multiple of every number of elements in 16 bytes */

struct words {
    _Alignas(32) uint32_t w[4][BLOCK];
};

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u
#define PHILOX_ROUNDS 10

always_inline void philox(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t k0,
                          uint32_t k1, uint32_t out[4])
{
#pragma GCC unroll 10
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        uint64_t p0 = (uint64_t)PHILOX_M0 * c0, p1 = (uint64_t)PHILOX_M1 * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void values_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    philox(counter[0], counter[1], counter[2], counter[3], key[0], key[1], out);
}

/* Words of counters first..first+n-1, with n at most BLOCK. */
typedef void draw_function(struct words *words, uint64_t first, size_t n, uint64_t seed,
                           uint32_t param, enum stream stream);

static void draw_plain(struct words *words, uint64_t first, size_t n, uint64_t seed, uint32_t param,
                       enum stream stream)
{
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (size_t j = 0; j < n; j++) {
        uint64_t i = first + j;
        uint32_t out[4];
        philox((uint32_t)i, (uint32_t)(i >> 32), param, (uint32_t)stream, k0, k1, out);
        for (int word = 0; word < 4; word++)
            words->w[word][j] = out[word];
    }
}

#ifdef VALUES_AVX2
#define target_avx2 __attribute__((target("avx2,fma")))

/* Each 64-bit lane holds one word in its low half; the high half is never read, so it may hold
 * anything. */
target_avx2 static void draw_avx2(struct words *words, uint64_t first, size_t n, uint64_t seed,
                                  uint32_t param, enum stream stream)
{
    const __m256i m0 = _mm256_set1_epi64x(PHILOX_M0), m1 = _mm256_set1_epi64x(PHILOX_M1);
    const __m256i low_halves = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    for (size_t j = 0; j < n; j += 8) {
        __m256i c[2][4];
        for (size_t v = 0; v < 2; v++) {
            __m256i i = _mm256_add_epi64(_mm256_set1_epi64x((long long)(first + j + 4 * v)),
                                         _mm256_setr_epi64x(0, 1, 2, 3));
            c[v][0] = i;
            c[v][1] = _mm256_srli_epi64(i, 32);
            c[v][2] = _mm256_set1_epi64x(param);
            c[v][3] = _mm256_set1_epi64x((long long)stream);
        }
        uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
        for (int round = 0; round < PHILOX_ROUNDS; round++) {
            __m256i key0 = _mm256_set1_epi64x(k0), key1 = _mm256_set1_epi64x(k1);
            for (size_t v = 0; v < 2; v++) {
                __m256i p0 = _mm256_mul_epu32(c[v][0], m0), p1 = _mm256_mul_epu32(c[v][2], m1);
                c[v][0] =
                    _mm256_xor_si256(_mm256_srli_epi64(p1, 32), _mm256_xor_si256(c[v][1], key0));
                c[v][2] =
                    _mm256_xor_si256(_mm256_srli_epi64(p0, 32), _mm256_xor_si256(c[v][3], key1));
                c[v][1] = p1;
                c[v][3] = p0;
            }
            k0 += PHILOX_W0;
            k1 += PHILOX_W1;
        }
        for (size_t v = 0; v < 2; v++) {
            for (size_t word = 0; word < 4; word++) {
                __m256i packed = _mm256_permutevar8x32_epi32(c[v][word], low_halves);
                _mm_store_si128((__m128i *)&words->w[word][j + 4 * v],
                                _mm256_castsi256_si128(packed));
            }
        }
    }
}

static bool have_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

/* Adds two exact numbers without a common bit, so the sum is exact as well. */
always_inline double unit(uint32_t r0, uint32_t r1)
{
    return (double)r0 * 0x1p-32 + (double)(int32_t)(r1 >> 11) * 0x1p-53;
}

always_inline double normal(uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3)
{
    int32_t sum = (int32_t)((r0 & 0xffff) + (r0 >> 16) + (r1 & 0xffff) + (r1 >> 16) +
                            (r2 & 0xffff) + (r2 >> 16) + (r3 & 0xffff) + (r3 >> 16));
    return (double)(sum - 262140) / VALUES_NORMAL_DIVISOR;
}

/* A random permutation of 0..count-1; see values.h. */
struct permutation {
    uint64_t count;
    unsigned half_bits;
    uint32_t keys[4];
    bool rotate;
};

always_inline uint32_t mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x85ebca6bu;
    x ^= x >> 13;
    x *= 0xc2b2ae35u;
    return x ^ x >> 16;
}

static uint64_t permute(const struct permutation *p, uint64_t i)
{
    uint32_t mask = (uint32_t)((1ull << p->half_bits) - 1);
    do {
        uint32_t left = (uint32_t)(i >> p->half_bits), right = (uint32_t)i & mask;
        for (int round = 0; round < 4; round++) {
            uint32_t next = left ^ (mix(right ^ p->keys[round]) & mask);
            left = right;
            right = next;
        }
        i = (uint64_t)left << p->half_bits | right;
    } while (i >= p->count);
    return p->rotate ? (i + 1 == p->count ? 0 : i + 1) : i;
}

static struct permutation permutation_of(uint64_t count, uint64_t seed, uint32_t param)
{
    struct permutation p = {.count = count};
    while (p.half_bits < 31 && (1ull << 2 * p.half_bits) < count)
        p.half_bits++;
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (uint32_t round = 0; round < 4; round++) {
        uint32_t counter[4] = {round, 0, param, STREAM_PERMUTATION}, out[4];
        values_philox(counter, key, out);
        p.keys[round] = out[0];
    }
    p.rotate = count > 1 && permute(&p, 0) == 0;
    return p;
}

struct fill {
    enum dtype type;
    uint64_t count, seed;
    uint32_t param;
    const struct distribution *distribution;
    struct permutation permutation;
};

/* v[0..n-1] before scale and offset. */
always_inline void transform(const struct fill *fill, draw_function *draw, uint64_t first, size_t n,
                             double *v)
{
    const struct distribution *d = fill->distribution;
    if (d->kind == DISTRIBUTION_PERMUTATION) {
        for (size_t j = 0; j < n; j++)
            v[j] = (double)permute(&fill->permutation, first + j);
        return;
    }

    struct words words;
    draw(&words, first, n, fill->seed, fill->param, STREAM_VALUES);
    const uint32_t *r0 = words.w[0], *r1 = words.w[1], *r2 = words.w[2], *r3 = words.w[3];
    switch (d->kind) {
    case DISTRIBUTION_UNIFORM:
        for (size_t j = 0; j < n; j++)
            v[j] = unit(r0[j], r1[j]);
        break;
    case DISTRIBUTION_NORMAL:
        for (size_t j = 0; j < n; j++)
            v[j] = normal(r0[j], r1[j], r2[j], r3[j]);
        break;
    case DISTRIBUTION_INTEGER: {
        uint64_t range = (uint64_t)d->high - (uint64_t)d->low + 1;
        for (size_t j = 0; j < n; j++) {
            uint64_t r = (uint64_t)r1[j] << 32 | r0[j];
            v[j] = (double)(d->low + (int64_t)(uint64_t)((unsigned __int128)r * range >> 64));
        }
        break;
    }
    case DISTRIBUTION_SORTED: {
        double count = (double)fill->count;
        for (size_t j = 0; j < n; j++)
            v[j] = ((double)(int64_t)(first + j) + unit(r0[j], r1[j])) / count;
        break;
    }
    case DISTRIBUTION_PERMUTATION:
        break;
    }
}

always_inline void store(void *to, enum dtype type, size_t at, const double *v, size_t n)
{
    if (type == DTYPE_F32) {
        float *out = (float *)to + at;
        for (size_t j = 0; j < n; j++)
            out[j] = (float)v[j];
    } else if (type == DTYPE_F64) {
        memcpy((double *)to + at, v, n * sizeof *v);
    } else {
        for (size_t j = 0; j < n; j++)
            dtype_store_double(type, to, at + j, v[j]);
    }
}

always_inline void fill_blocks(const struct fill *fill, draw_function *draw, void *to,
                               uint64_t first, size_t n)
{
    double scale = fill->distribution->scale, offset = fill->distribution->offset;
    for (size_t at = 0; at < n; at += BLOCK) {
        double v[BLOCK];
        size_t now = n - at < BLOCK ? n - at : BLOCK;
        transform(fill, draw, first + at, now, v);
        for (size_t j = 0; j < now; j++)
            v[j] = fma(v[j], scale, offset);
        store(to, fill->type, at, v, now);
    }
}

/* Bytes from..from+n-1 of the endless byte stream that counters 0, 1, 2, ... give. */
static void fill_bytes(uint8_t *to, uint64_t from, size_t n, uint64_t seed, uint32_t param,
                       enum stream stream)
{
    draw_function *draw = draw_plain;
#ifdef VALUES_AVX2
    if (have_avx2())
        draw = draw_avx2;
#endif
    while (n) {
        struct words words;
        uint32_t bytes[BLOCK][4];
        size_t skip = from % 16;
        size_t now = n < sizeof bytes - skip ? n : sizeof bytes - skip;
        size_t blocks = (skip + now + 15) / 16;
        draw(&words, from / 16, blocks, seed, param, stream);
        for (size_t j = 0; j < blocks; j++)
            for (int word = 0; word < 4; word++)
                bytes[j][word] = words.w[word][j];
        memcpy(to, (const uint8_t *)bytes + skip, now);
        to += now;
        from += now;
        n -= now;
    }
}

/* How raw bits become a poison element: (bits & keep) + add. */
struct poison_rule {
    uint64_t keep, add;
};

#define POISON_FLOAT(exponent_bits, mantissa_bits, random_bits, lowest)                            \
    {                                                                                              \
        1ull << ((exponent_bits) + (mantissa_bits)) |                                              \
            ((1ull << ((mantissa_bits) + (random_bits))) - 1),                                     \
            (uint64_t)(lowest) << (mantissa_bits)                                                  \
    }

static const struct poison_rule poison_rules[DTYPE_COUNT] = {
    [DTYPE_F64] = POISON_FLOAT(11, 52, 4, 1016),
    [DTYPE_F32] = POISON_FLOAT(8, 23, 4, 120),
    [DTYPE_F16] = POISON_FLOAT(5, 10, 3, 11),
    [DTYPE_BF16] = POISON_FLOAT(8, 7, 4, 120),
    [DTYPE_F8E4M3] = POISON_FLOAT(4, 3, 2, 5),
    [DTYPE_F8E5M2] = POISON_FLOAT(5, 2, 2, 13),
    [DTYPE_I8] = {UINT8_MAX, 0},
    [DTYPE_U8] = {UINT8_MAX, 0},
    [DTYPE_I32] = {(1u << 24) - 1, -(1ull << 23)},
    [DTYPE_I64] = {(1u << 24) - 1, -(1ull << 23)},
    [DTYPE_BOOL] = {1, 0},
};

#ifdef VALUES_AVX2
target_avx2 static void fill_avx2(const struct fill *fill, void *to, uint64_t first, size_t n)
{
    fill_blocks(fill, draw_avx2, to, first, n);
}
#endif

void values_fill(void *to, enum dtype type, uint64_t first, size_t n, uint64_t count,
                 const struct distribution *distribution, uint64_t seed, uint32_t param)
{
    struct fill fill = {
        .type = type, .count = count, .seed = seed, .param = param, .distribution = distribution};
    if (distribution->kind == DISTRIBUTION_PERMUTATION)
        fill.permutation = permutation_of(count, seed, param);
#ifdef VALUES_AVX2
    if (have_avx2()) {
        fill_avx2(&fill, to, first, n);
        return;
    }
#endif
    fill_blocks(&fill, draw_plain, to, first, n);
}

void values_poison(void *to, enum dtype type, uint64_t first, size_t n, uint64_t seed,
                   uint32_t param)
{
    size_t size = dtype_size(type);
    struct poison_rule rule = poison_rules[type];
    fill_bytes(to, first * size, n * size, seed, param, STREAM_POISON);
    if (size == 8) {
        for (size_t i = 0; i < n; i++)
            ((uint64_t *)to)[i] = (((uint64_t *)to)[i] & rule.keep) + rule.add;
    } else if (size == 4) {
        for (size_t i = 0; i < n; i++)
            ((uint32_t *)to)[i] = (((uint32_t *)to)[i] & (uint32_t)rule.keep) + (uint32_t)rule.add;
    } else if (size == 2) {
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)to)[i] = (uint16_t)((((uint16_t *)to)[i] & rule.keep) + rule.add);
    } else {
        for (size_t i = 0; i < n; i++)
            ((uint8_t *)to)[i] = (uint8_t)((((uint8_t *)to)[i] & rule.keep) + rule.add);
    }
}

void values_canary(void *to, size_t n, uint64_t seed, uint32_t param)
{
    fill_bytes(to, 0, n, seed, param, STREAM_CANARY);
}
