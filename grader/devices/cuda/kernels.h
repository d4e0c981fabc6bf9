/*
 * What the trusted kernels (kernels.cu) and the code that launches them share: names, arguments, the gate's mailbox.
 * Included by C and by CUDA C++.
 */
#ifndef KGRADE_CUDA_KERNELS_H
#define KGRADE_CUDA_KERNELS_H

#include <stdint.h>

#include "../../task/dtype.h"

/* The last counter word of the generator, as in task/values.c. */
enum kernels_stream {
    KERNELS_VALUES = 0,
    KERNELS_PERMUTATION = 1,
    KERNELS_POISON = 2,
    KERNELS_CANARY = 3
};

/* The distributions of task.h, in its order. */
enum kernels_distribution {
    KERNELS_UNIFORM,
    KERNELS_NORMAL,
    KERNELS_INTEGER,
    KERNELS_PERMUTED,
    KERNELS_SORTED,
};

#define KERNELS_THREADS 256 /* per block, of all kernels below that work on arrays */

#define KERNELS_FILL_RUN 4 /* elements that a thread of "kgrade_fill" draws at a time, if common */

/*
 * 1 / VALUES_NORMAL_DIVISOR of task/values.h, and what that rounding lost.  fma(x, INVERSE, x * REST) is the quotient that a
 * division gives, to the last bit, for each of the 524281 sums there are; tests/unit/test_values.c tries them all.
 */
#define KERNELS_NORMAL_INVERSE 0x1.3988e1412ed76p-16
#define KERNELS_NORMAL_REST (-0x1.17d35ae706e5ap-70)

/* "kgrade_fill": count elements of a buffer. */
struct kernels_fill {
    uint64_t to; /* address, aligned to 16 */
    uint64_t count;
    double scale, offset;
    int64_t low, high;
    uint32_t distribution, dtype, param;
    uint32_t seed_low, seed_high;
    /* permutation */
    uint32_t half_bits, rotate;
    uint32_t keys[4];
};

/* "kgrade_poison": elements of size 1, 2, 4 or 8 become (random bits & keep) + add. */
struct kernels_poison {
    uint64_t to; /* address, aligned to 16 */
    uint64_t bytes;
    uint64_t keep, add;
    uint32_t size;
    uint32_t param, seed_low, seed_high;
};

/* "kgrade_canary": bytes behind a buffer, at any address. */
struct kernels_canary {
    uint64_t to;
    uint64_t bytes;
    uint32_t param, seed_low, seed_high;
    uint32_t unused;
};

/* "kgrade_restore": a table of ranges that get back what they held; from 0 means zeros. */
struct kernels_range {
    uint64_t to, from, bytes;
};

/* The gate's mailbox: one word per line of 128 bytes in mapped host memory.  The protocol is in gate.h. */
#define KERNELS_LINE 16 /* words */
enum kernels_word {
    WORD_COMMAND = 0 * KERNELS_LINE,  /* host: enum kernels_command */
    WORD_ARRIVED = 1 * KERNELS_LINE,  /* gate: 1 */
    WORD_PROMISE = 2 * KERNELS_LINE,  /* gate: the release time, ns of the device's global timer */
    WORD_LATE = 3 * KERNELS_LINE,     /* gate: not 0 when the promise was not kept */
    WORD_STOP = 4 * KERNELS_LINE,     /* stop: the time */
    WORD_AHEAD = 5 * KERNELS_LINE,    /* host: how far ahead to promise, ns */
    WORD_PATIENCE = 6 * KERNELS_LINE, /* host: how long the gate waits for its order, ns */
    WORD_COUNT = 7 * KERNELS_LINE
};

enum kernels_command {
    COMMAND_NONE,
    COMMAND_PROMISE, /* promise a release time */
    COMMAND_TAKEN,   /* the promise is out of reach: leave at the time promised */
    COMMAND_PASS,    /* let everything through at once */
};

#define KERNELS_TICKS 256 /* stamps that "kgrade_ticks" takes */

#endif
