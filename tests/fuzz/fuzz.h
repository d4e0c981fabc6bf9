/* What the fuzz targets share.  Each is one LLVMFuzzerTestOneInput; what it finds wrong ends the program by abort(). */
#ifndef KGRADE_TESTS_FUZZ_H
#define KGRADE_TESTS_FUZZ_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Like assert, but in every build. */
#define require(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: this does not hold: %s\n", __FILE__, __LINE__, #condition);    \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Whoever refuses must say why. */
static inline void require_reason(const kgrade_error *err)
{
    require(err->code[0] && err->message[0]);
}

/* Input that is taken apart from the front; zeros follow its end. */
struct input {
    const uint8_t *at;
    size_t left;
};

static inline uint8_t input_byte(struct input *in)
{
    if (!in->left)
        return 0;
    in->left--;
    return *in->at++;
}

static inline uint64_t input_number(struct input *in, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)input_byte(in) << (8 * i);
    return value;
}

/* A number below n. */
static inline size_t input_below(struct input *in, size_t n)
{
    return n > 256 ? input_number(in, 2) % n : input_byte(in) % n;
}

/* Of the low ones, which is where new ones go: as many before and after when none was left open. */
static inline unsigned count_descriptors(void)
{
    unsigned n = 0;
    for (int fd = 0; fd < 24; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

#endif
