#include "dtype.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* How a floating-point type narrower than 32 bits is laid out: sign, exponent, mantissa. */
struct narrow_format {
    unsigned exponent_bits, mantissa_bits;
    bool has_infinity; /* false: the all-ones exponent holds numbers; only all ones is NaN */
};

static const struct narrow_format format_f16 = {5, 10, true};
static const struct narrow_format format_bf16 = {8, 7, true};
static const struct narrow_format format_f8e4m3 = {4, 3, false};
static const struct narrow_format format_f8e5m2 = {5, 2, true};

static const struct {
    const char *name;
    size_t size;
    bool is_float;
} types[DTYPE_COUNT] = {
    [DTYPE_F64] = {"f64", 8, true},       [DTYPE_F32] = {"f32", 4, true},
    [DTYPE_F16] = {"f16", 2, true},       [DTYPE_BF16] = {"bf16", 2, true},
    [DTYPE_F8E4M3] = {"f8e4m3", 1, true}, [DTYPE_F8E5M2] = {"f8e5m2", 1, true},
    [DTYPE_I8] = {"i8", 1, false},        [DTYPE_U8] = {"u8", 1, false},
    [DTYPE_I32] = {"i32", 4, false},      [DTYPE_I64] = {"i64", 8, false},
    [DTYPE_BOOL] = {"bool", 1, false},
};

const char *dtype_name(enum dtype type)
{
    return types[type].name;
}

bool dtype_parse(const char *name, enum dtype *ret)
{
    for (int i = 0; i < DTYPE_COUNT; i++) {
        if (strcmp(types[i].name, name) == 0) {
            *ret = (enum dtype)i;
            return true;
        }
    }
    return false;
}

size_t dtype_size(enum dtype type)
{
    return types[type].size;
}

bool dtype_is_float(enum dtype type)
{
    return types[type].is_float;
}

unsigned dtype_mantissa_bits(enum dtype type)
{
    static const unsigned bits[DTYPE_COUNT] = {
        [DTYPE_F64] = 52, [DTYPE_F32] = 23,   [DTYPE_F16] = 10,
        [DTYPE_BF16] = 7, [DTYPE_F8E4M3] = 3, [DTYPE_F8E5M2] = 2};
    return bits[type];
}

/* Every value of a narrow type is a double, so this is exact: the fields are moved to where a
 * double has them. */
static double widen_narrow(struct narrow_format format, unsigned bits)
{
    unsigned exponent_mask = (1u << format.exponent_bits) - 1;
    unsigned mantissa_mask = (1u << format.mantissa_bits) - 1;
    unsigned exponent = bits >> format.mantissa_bits & exponent_mask;
    unsigned mantissa = bits & mantissa_mask;
    uint64_t sign = (uint64_t)(bits >> (format.exponent_bits + format.mantissa_bits) & 1) << 63;
    int bias = (int)(exponent_mask >> 1);

    uint64_t out;
    if (exponent == exponent_mask && format.has_infinity) {
        out = sign | 0x7ffull << 52 | (uint64_t)mantissa << (52 - format.mantissa_bits);
    } else if (exponent == exponent_mask && mantissa == mantissa_mask) {
        out = sign | 0x7ff8ull << 48;
    } else if (exponent) {
        out = sign | (uint64_t)((int)exponent - bias + 1023) << 52 |
              (uint64_t)mantissa << (52 - format.mantissa_bits);
    } else {
        double small = ldexp((double)mantissa, 1 - bias - (int)format.mantissa_bits);
        return sign ? -small : small;
    }
    double value;
    memcpy(&value, &out, sizeof value);
    return value;
}

/* Rounds once, from the double, to nearest even. */
static unsigned round_narrow(struct narrow_format format, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t mantissa_mask = (1ull << format.mantissa_bits) - 1;
    uint64_t exponent_mask = (1ull << format.exponent_bits) - 1;
    uint64_t sign = (bits >> 63) << (format.exponent_bits + format.mantissa_bits);
    int bias = (int)(exponent_mask >> 1);
    uint64_t infinity = exponent_mask << format.mantissa_bits;
    uint64_t overflow = format.has_infinity ? infinity : (infinity | mantissa_mask) - 1;

    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    uint64_t significand = (bits & ((1ull << 52) - 1)) | 1ull << 52;
    if (isnan(value)) {
        uint64_t quiet = 1ull << (format.mantissa_bits - 1);
        return (unsigned)(sign | infinity | (format.has_infinity ? quiet : mantissa_mask));
    }
    if (exponent == 1024)
        return (unsigned)(sign | overflow);
    if (exponent == -1023)
        return (unsigned)sign; /* zero, or far below half of the smallest number */

    unsigned shift = 52 - format.mantissa_bits;
    bool subnormal = exponent < 1 - bias;
    if (subnormal) {
        int more = 1 - bias - exponent;
        shift = shift + (unsigned)more > 54 ? 54 : shift + (unsigned)more;
    }
    uint64_t rounded = significand >> shift;
    uint64_t rest = significand & ((1ull << shift) - 1);
    uint64_t half = 1ull << (shift - 1);
    if (rest > half || (rest == half && (rounded & 1)))
        rounded++;
    /* A carry out of the mantissa moves into the exponent field, which is the right number. */
    if (!subnormal)
        rounded += (uint64_t)(exponent + bias - 1) << format.mantissa_bits;
    return (unsigned)(sign | (rounded > overflow ? overflow : rounded));
}

static int64_t round_integer(double value, int64_t low, int64_t high)
{
    if (isnan(value))
        return 0;
    double rounded = nearbyint(value);
    /* 2^63 is the double next above INT64_MAX, which has no double of its own. */
    if (rounded >= (double)high)
        return high;
    if (rounded <= (double)low)
        return low;
    return (int64_t)rounded;
}

void dtype_store_double(enum dtype type, void *to, size_t index, double value)
{
    switch (type) {
    case DTYPE_F64:
        ((double *)to)[index] = value;
        break;
    case DTYPE_F32:
        ((float *)to)[index] = (float)value;
        break;
    case DTYPE_F16:
        ((uint16_t *)to)[index] = (uint16_t)round_narrow(format_f16, value);
        break;
    case DTYPE_BF16:
        ((uint16_t *)to)[index] = (uint16_t)round_narrow(format_bf16, value);
        break;
    case DTYPE_F8E4M3:
        ((uint8_t *)to)[index] = (uint8_t)round_narrow(format_f8e4m3, value);
        break;
    case DTYPE_F8E5M2:
        ((uint8_t *)to)[index] = (uint8_t)round_narrow(format_f8e5m2, value);
        break;
    case DTYPE_I8:
        ((int8_t *)to)[index] = (int8_t)round_integer(value, INT8_MIN, INT8_MAX);
        break;
    case DTYPE_U8:
        ((uint8_t *)to)[index] = (uint8_t)round_integer(value, 0, UINT8_MAX);
        break;
    case DTYPE_I32:
        ((int32_t *)to)[index] = (int32_t)round_integer(value, INT32_MIN, INT32_MAX);
        break;
    case DTYPE_I64:
        ((int64_t *)to)[index] = round_integer(value, INT64_MIN, INT64_MAX);
        break;
    case DTYPE_BOOL:
        ((uint8_t *)to)[index] = (uint8_t)round_integer(value, 0, 1);
        break;
    case DTYPE_COUNT:
        break;
    }
}

double dtype_load_double(enum dtype type, const void *from, size_t index)
{
    switch (type) {
    case DTYPE_F64:
        return ((const double *)from)[index];
    case DTYPE_F32:
        return (double)((const float *)from)[index];
    case DTYPE_F16:
        return widen_narrow(format_f16, ((const uint16_t *)from)[index]);
    case DTYPE_BF16:
        return widen_narrow(format_bf16, ((const uint16_t *)from)[index]);
    case DTYPE_F8E4M3:
        return widen_narrow(format_f8e4m3, ((const uint8_t *)from)[index]);
    case DTYPE_F8E5M2:
        return widen_narrow(format_f8e5m2, ((const uint8_t *)from)[index]);
    case DTYPE_I8:
        return ((const int8_t *)from)[index];
    case DTYPE_U8:
    case DTYPE_BOOL:
        return ((const uint8_t *)from)[index];
    case DTYPE_I32:
        return ((const int32_t *)from)[index];
    case DTYPE_I64:
        return (double)((const int64_t *)from)[index];
    case DTYPE_COUNT:
        break;
    }
    return NAN;
}

void dtype_widen(enum dtype type, const void *from, size_t n, void *to)
{
    double *numbers = to;
    int64_t *integers = to;
    switch (type) {
    case DTYPE_F64:
        memcpy(to, from, n * sizeof(double));
        break;
    case DTYPE_F32:
        for (size_t i = 0; i < n; i++)
            numbers[i] = (double)((const float *)from)[i];
        break;
    case DTYPE_F16:
        for (size_t i = 0; i < n; i++)
            numbers[i] = widen_narrow(format_f16, ((const uint16_t *)from)[i]);
        break;
    case DTYPE_BF16:
        for (size_t i = 0; i < n; i++)
            numbers[i] = widen_narrow(format_bf16, ((const uint16_t *)from)[i]);
        break;
    case DTYPE_F8E4M3:
        for (size_t i = 0; i < n; i++)
            numbers[i] = widen_narrow(format_f8e4m3, ((const uint8_t *)from)[i]);
        break;
    case DTYPE_F8E5M2:
        for (size_t i = 0; i < n; i++)
            numbers[i] = widen_narrow(format_f8e5m2, ((const uint8_t *)from)[i]);
        break;
    case DTYPE_I8:
        for (size_t i = 0; i < n; i++)
            integers[i] = ((const int8_t *)from)[i];
        break;
    case DTYPE_U8:
    case DTYPE_BOOL:
        for (size_t i = 0; i < n; i++)
            integers[i] = ((const uint8_t *)from)[i];
        break;
    case DTYPE_I32:
        for (size_t i = 0; i < n; i++)
            integers[i] = ((const int32_t *)from)[i];
        break;
    case DTYPE_I64:
        memcpy(to, from, n * sizeof(int64_t));
        break;
    case DTYPE_COUNT:
        break;
    }
}
