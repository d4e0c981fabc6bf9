/* Element types of tensors and scalars. */
#ifndef KGRADE_DTYPE_H
#define KGRADE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>

enum dtype {
    DTYPE_F64,
    DTYPE_F32,
    DTYPE_F16,
    DTYPE_BF16,
    DTYPE_F8E4M3, /* OCP FP8, no infinities */
    DTYPE_F8E5M2,
    DTYPE_I8,
    DTYPE_U8,
    DTYPE_I32,
    DTYPE_I64,
    DTYPE_BOOL, /* one byte, 0 or 1 */
    DTYPE_COUNT,
};

const char *dtype_name(enum dtype type);             /* "f32", ... */
bool dtype_parse(const char *name, enum dtype *ret); /* false: unknown */
size_t dtype_size(enum dtype type);                  /* bytes */
bool dtype_is_float(enum dtype type);
unsigned dtype_mantissa_bits(enum dtype type); /* explicit ones; 0: not floating-point */

/* Converts n elements to the reference's types: double for floats, int64_t for the rest. */
void dtype_widen(enum dtype type, const void *from, size_t n, void *to);

/* Rounds to nearest even into the element type; values outside saturate for integers, go to
 * infinity (or the type's largest finite value for f8e4m3) for floats. */
void dtype_store_double(enum dtype type, void *to, size_t index, double value);
double dtype_load_double(enum dtype type, const void *from, size_t index);

#endif
