/*
 * Input values.  Element i of parameter p under seed s depends on (s, p, i) alone, through
 * Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11) with
 * key = (s low, s high 32 bits) and counter = (i low, i high, p, use).  p is the parameter's place
 * in call order, counted from 0.  `use` keeps the streams apart: 0 values, 1 permutation keys,
 * 2 poison, 3 canaries, 4 hidden cases (task_draw_hidden).  Every transformation is exact in
 * integers or a single correctly rounded operation, so a device and a CPU produce the same bits,
 * and a reader can reproduce an input from its seed.  A compiler must not contract or reorder these
 * formulas.
 *
 * With r0..r3 the four outputs, << and >> on unsigned integers, x(n) the integer n as a double:
 *
 *   uniform      u = x((r0 << 21) + (r1 >> 11)) * 2^-53, all 53 bits exact
 *   normal       x(sum of the eight 16-bit halves of r0..r3 - 262140) / VALUES_NORMAL_DIVISOR:
 *                central limit; mean 0, deviation 1; tails end at 4.9 deviations
 *   integer      x(low + (((r1 << 32) + r0) * (high - low + 1) >> 64)), the product in 128 bits
 *   permutation  x(P(i)), see below
 *   sorted       (x(i) + u) / x(count), the sum rounded, then the quotient rounded; ascending;
 *                the last may reach 1 through rounding
 *
 * then fma(v, scale, offset) in double, then rounded once to the element type (dtype_store_double).
 *
 * P is a permutation of 0..count-1.  h is the least integer with 4^h >= count; K0..K3 are r0 of the
 * counters (0, 0, p, 1) .. (3, 0, p, 1).  One pass of a Feistel network over 2h bits:
 *   L = i >> h, R = i mod 2^h;
 *   for k = 0..3: (L, R) = (R, L ^ (mix(R ^ Kk) mod 2^h));
 *   i = (L << h) + R.
 * Passes are repeated until i < count.  mix is MurmurHash3's 32-bit finaliser:
 *   x ^= x >> 16, x *= 0x85ebca6b, x ^= x >> 13, x *= 0xc2b2ae35, x ^= x >> 16.
 * If that gives P(0) = 0 and count > 1, every P(i) is replaced by (P(i) + 1) mod count; so P is
 * never the identity.
 *
 * Poison and canaries are byte streams: bytes 16b..16b+15 are r0..r3 of the counter
 * (b low, b high, p, use), little endian.  Canaries are these bytes.  Poison takes them as the
 * elements of the buffer, unsigned integers w of the element's size, and makes each w the bits
 * (w & keep) + add, wrapping:
 *
 *   dtype    keep                                     add
 *   f64      sign, mantissa, low 4 bits of exponent   1016 to the exponent field
 *   f32      sign, mantissa, low 4 bits of exponent   120 to the exponent field
 *   f16      sign, mantissa, low 3 bits of exponent   11 to the exponent field
 *   bf16     sign, mantissa, low 4 bits of exponent   120 to the exponent field
 *   f8e4m3   sign, mantissa, low 2 bits of exponent   5 to the exponent field
 *   f8e5m2   sign, mantissa, low 2 bits of exponent   13 to the exponent field
 *   i32 i64  low 24 bits                              -2^23
 *   i8 u8    all bits                                 0
 *   bool     low bit                                  0
 */
#ifndef KGRADE_VALUES_H
#define KGRADE_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "task.h"

#define VALUES_NORMAL_DIVISOR 0x1.a20bd6fff1bdfp+15 /* sqrt(8 * (2^32 - 1) / 12) */
#define VALUES_NORMAL_LIMIT 4.9                     /* no normal is further from 0 */

/* Philox4x32-10; counter and output are four words. */
void values_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Elements first..first+n-1 of a buffer of `count` elements of type `type`, written to `to` (n
 * elements, aligned for the type).  Filling in pieces gives the same as filling at once. */
void values_fill(void *to, enum dtype type, uint64_t first, size_t n, uint64_t count,
                 const struct distribution *distribution, uint64_t seed, uint32_t param);

/* Poison: what outputs hold before a sample; elements first..first+n-1.  Finite plausible numbers
 * around 1 for floats, so that nothing can tell them from data, and different for every seed. */
void values_poison(void *to, enum dtype type, uint64_t first, size_t n, uint64_t seed,
                   uint32_t param);

/* Canary bytes behind buffer `param`; n bytes. */
void values_canary(void *to, size_t n, uint64_t seed, uint32_t param);

#endif
