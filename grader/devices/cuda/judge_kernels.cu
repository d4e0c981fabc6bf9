/*
 * The judge's kernels: whether inputs are unchanged, and the figures of judge/compare.c.  Compiled without
 * contraction of a * b + c, so that every operation rounds as its counterpart on the CPU does.
 */
#include <math.h>

#include "judge_kernels.h"

static __device__ __forceinline__ uint64_t first_thread(void)
{
    return blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ uint64_t all_threads(void)
{
    return (uint64_t)gridDim.x * blockDim.x;
}

/* *flag becomes 1 when two ranges of bytes differ; both begin at multiples of 16. */
extern "C" __global__ void __launch_bounds__(JUDGE_THREADS)
    kgrade_differ(const uint8_t *a, const uint8_t *b, uint64_t bytes, uint32_t *flag)
{
    uint64_t differs = 0, whole = bytes / 16 * 16;
    for (uint64_t at = first_thread() * 16; at < whole; at += all_threads() * 16) {
        ulonglong2 x = *(const ulonglong2 *)(a + at), y = *(const ulonglong2 *)(b + at);
        differs |= (x.x ^ y.x) | (x.y ^ y.y);
    }
    for (uint64_t at = whole + first_thread(); at < bytes; at += all_threads())
        differs |= a[at] ^ b[at];
    if (differs)
        *flag = 1;
}

/* --- elements; task/dtype.c has the same functions --- */

/* Every value of a narrow type is a double, so this is exact. */
static __device__ double widen_narrow(int exponent_bits, int mantissa_bits, bool has_infinity,
                                      uint32_t bits)
{
    uint32_t exponent_mask = (1u << exponent_bits) - 1, mantissa_mask = (1u << mantissa_bits) - 1;
    uint32_t exponent = bits >> mantissa_bits & exponent_mask, mantissa = bits & mantissa_mask;
    uint64_t sign = (uint64_t)(bits >> (exponent_bits + mantissa_bits) & 1) << 63;
    int bias = (int)(exponent_mask >> 1);
    uint64_t out;
    if (exponent == exponent_mask && has_infinity) {
        out = sign | 0x7ffull << 52 | (uint64_t)mantissa << (52 - mantissa_bits);
    } else if (exponent == exponent_mask && mantissa == mantissa_mask) {
        out = sign | 0x7ff8ull << 48;
    } else if (exponent) {
        out = sign | (uint64_t)((int)exponent - bias + 1023) << 52 |
              (uint64_t)mantissa << (52 - mantissa_bits);
    } else {
        uint64_t unit = (uint64_t)(1 - bias - mantissa_bits + 1023) << 52;
        double small = (double)mantissa * __longlong_as_double((long long)unit);
        return sign ? -small : small;
    }
    return __longlong_as_double((long long)out);
}

static __device__ double load_float(uint32_t dtype, uint64_t bits)
{
    switch (dtype) {
    case DTYPE_F64:
        return __longlong_as_double((long long)bits);
    case DTYPE_F32:
        return (double)__uint_as_float((uint32_t)bits);
    case DTYPE_F16:
        return widen_narrow(5, 10, true, (uint32_t)bits);
    case DTYPE_BF16:
        return widen_narrow(8, 7, true, (uint32_t)bits);
    case DTYPE_F8E4M3:
        return widen_narrow(4, 3, false, (uint32_t)bits);
    default:
        return widen_narrow(5, 2, true, (uint32_t)bits);
    }
}

static __device__ int64_t load_integer(uint32_t dtype, uint64_t bits)
{
    switch (dtype) {
    case DTYPE_I8:
        return (int8_t)bits;
    case DTYPE_I32:
        return (int32_t)bits;
    default: /* unsigned ones are not longer than their bits */
        return (int64_t)bits;
    }
}

static __device__ __forceinline__ bool holds_float(uint32_t dtype)
{
    return dtype == DTYPE_F64 || dtype == DTYPE_F32 || dtype == DTYPE_F16 || dtype == DTYPE_BF16 ||
           dtype == DTYPE_F8E4M3 || dtype == DTYPE_F8E5M2;
}

static __device__ __forceinline__ uint32_t bytes_of(uint32_t dtype)
{
    switch (dtype) {
    case DTYPE_F64:
    case DTYPE_I64:
        return 8;
    case DTYPE_F32:
    case DTYPE_I32:
        return 4;
    case DTYPE_F16:
    case DTYPE_BF16:
        return 2;
    default:
        return 1;
    }
}

/* --- widening --- */

template <typename WORD>
static __device__ __forceinline__ void widen(const void *from, void *to, uint64_t count,
                                             uint32_t dtype)
{
    for (uint64_t i = first_thread(); i < count; i += all_threads()) {
        uint64_t bits = ((const WORD *)from)[i];
        if (holds_float(dtype))
            ((double *)to)[i] = load_float(dtype, bits);
        else
            ((int64_t *)to)[i] = load_integer(dtype, bits);
    }
}

/* Elements to double or int64_t. */
extern "C" __global__ void __launch_bounds__(JUDGE_THREADS)
    kgrade_widen(const void *from, void *to, uint64_t count, uint32_t dtype)
{
    switch (bytes_of(dtype)) {
    case 8:
        widen<uint64_t>(from, to, count, dtype);
        break;
    case 4:
        widen<uint32_t>(from, to, count, dtype);
        break;
    case 2:
        widen<uint16_t>(from, to, count, dtype);
        break;
    default:
        widen<uint8_t>(from, to, count, dtype);
        break;
    }
}

/* --- comparing --- */

static __device__ __forceinline__ double excess_of(double got, double expected,
                                                   const compare_arguments &a, double *ret_error)
{
    if (!isfinite(expected) || !isfinite(got)) {
        bool same = isnan(expected) ? isnan(got) : got == expected;
        *ret_error = same ? 0 : INFINITY;
        return *ret_error;
    }
    *ret_error = fabs(got - expected);
    double allowed = a.is_exact ? 0 : a.absolute + a.relative * fabs(expected);
    if (*ret_error <= allowed)
        return allowed > 0 ? *ret_error / allowed : 0;
    return allowed > 0 ? *ret_error / allowed : INFINITY;
}

/* Whether the worst element of a is worse than that of b; of equals, the first. */
static __device__ __forceinline__ bool is_worse(const compare_part &a, const compare_part &b)
{
    if (a.excess != b.excess)
        return a.excess > b.excess;
    if (isinf(a.excess) && a.error != b.error)
        return a.error > b.error;
    return a.excess >= 0 && a.index < b.index;
}

static __device__ __forceinline__ void take_worst(compare_part &to, const compare_part &from)
{
    if (is_worse(from, to)) {
        to.excess = from.excess;
        to.error = from.error;
        to.expected = from.expected;
        to.got = from.got;
        to.index = from.index;
    }
}

static __device__ void merge(compare_part &to, const compare_part &from)
{
    to.bad += from.bad;
    to.nan += from.nan;
    to.unwritten += from.unwritten;
    to.difference2 += from.difference2;
    to.expected2 += from.expected2;
    take_worst(to, from);
}

template <typename WORD>
static __device__ __forceinline__ void look_at(const compare_arguments &a, uint64_t i,
                                               compare_part &part)
{
    uint64_t bits = ((const WORD *)a.got)[i];
    compare_part one;
    one.index = i;
    if (holds_float(a.dtype)) {
        one.expected = ((const double *)a.expected)[i];
        one.got = load_float(a.dtype, bits);
        one.excess = excess_of(one.got, one.expected, a, &one.error);
    } else {
        /* 64-bit integers do not fit a double: what was meant is compared, not its rounding. */
        int64_t expected = ((const int64_t *)a.expected)[i], got = load_integer(a.dtype, bits);
        one.expected = (double)expected;
        one.got = (double)got;
        one.excess = excess_of(one.got, one.expected, a, &one.error);
        if (a.is_exact)
            one.excess = got == expected ? 0 : INFINITY;
    }
    if (isfinite(one.expected) && isfinite(one.got)) {
        part.difference2 += (one.got - one.expected) * (one.got - one.expected);
        part.expected2 += one.expected * one.expected;
    }
    if (one.excess > 1) {
        part.bad++;
        part.nan += isnan(one.got) && !isnan(one.expected);
        part.unwritten += a.poison && ((const WORD *)a.poison)[i] == (WORD)bits;
    }
    take_worst(part, one);
}

template <typename WORD>
static __device__ __forceinline__ void look_at_all(const compare_arguments &a, compare_part &part)
{
    for (uint64_t i = first_thread(); i < a.count; i += all_threads())
        look_at<WORD>(a, i, part);
}

extern "C" __global__ void __launch_bounds__(JUDGE_THREADS)
    kgrade_compare(const __grid_constant__ compare_arguments a)
{
    __shared__ compare_part parts[JUDGE_THREADS];
    compare_part part = {0, 0, 0, 0, 0, -1, 0, 0, 0, 0};
    switch (bytes_of(a.dtype)) {
    case 8:
        look_at_all<uint64_t>(a, part);
        break;
    case 4:
        look_at_all<uint32_t>(a, part);
        break;
    case 2:
        look_at_all<uint16_t>(a, part);
        break;
    default:
        look_at_all<uint8_t>(a, part);
        break;
    }
    parts[threadIdx.x] = part;
    for (unsigned n = JUDGE_THREADS / 2; n; n /= 2) {
        __syncthreads();
        if (threadIdx.x < n)
            merge(parts[threadIdx.x], parts[threadIdx.x + n]);
    }
    if (threadIdx.x == 0)
        ((compare_part *)a.parts)[blockIdx.x] = parts[0];
}
