/*
 * What the lanes of a warp exchange.  HIP's functions without a mask are for the lanes that are active, so the mask is
 * __activemask() here: code in which a branch keeps part of a warp away works as it does on AMD cards.
 *
 * The mask is taken anew for each exchange.  Where the compiler does not see that a warp is whole, as in a loop whose length
 * depends on the thread, that costs three instructions: to take the mask, to make it uniform, and to look whether these lanes
 * are together.  It cannot be taken once for several exchanges: the compiler keeps the order of volatile asm only, which
 * __activemask() is, and moves any other out of a loop that lanes leave at different times.  The mask would then name lanes
 * that never come.
 *
 * KGRADE_HIP_WHOLE_WARPS, defined before these headers are included, is the author's promise that all lanes of a warp which
 * have not ended come to every exchange without a mask.  They then cost what CUDA's cost with a constant mask.
 *
 * An NVIDIA warp has 32 lanes, and warpSize is the constant 32.  Masks that HIP gives are 64 bits wide with the upper half 0.
 * What can only be meant for 64 lanes is found where the compiler can see it:
 *
 *   a constant width above 32, a constant lane or distance of 32 and more      does not compile
 *   a mask of 64 bits given to a function ...._sync                            a warning; its upper half is dropped
 *
 * These names are macros, so CUDA's own C++ libraries (cub, thrust, cuda/std) are to be included before HIP's headers.
 *
 * A distance that begins at 32 in a loop is not seen: lanes then get their own value back, and sums come out too large.
 */
#ifndef KGRADE_HIP_LANES_H
#define KGRADE_HIP_LANES_H

#include <type_traits>

#include "hip_runtime_api.h"

namespace kgrade_hip
{
constexpr int lanes = kgrade_hip_warp_size;

/* Small integers and bool travel as int. */
template <class T>
using carrier =
    std::conditional_t<(std::is_integral_v<T> && sizeof(T) < sizeof(int)) || std::is_enum_v<T>, int,
                       T>;

__device__ __forceinline__ unsigned present()
{
#ifdef KGRADE_HIP_WHOLE_WARPS
    return 0xffffffffu;
#else
    return __activemask();
#endif
}

template <bool assumes_64_lanes> struct shuffle {
    static_assert(
        !assumes_64_lanes,
        "this shuffle is written for 64 lanes: an NVIDIA warp has 32, which is what warpSize says");

    template <class T>
    static __device__ __forceinline__ T from(T value, int lane, int width = lanes)
    {
        return (T)__shfl_sync(present(), (carrier<T>)value, lane, width);
    }
    template <class T>
    static __device__ __forceinline__ T up(T value, unsigned distance, int width = lanes)
    {
        return (T)__shfl_up_sync(present(), (carrier<T>)value, distance, width);
    }
    template <class T>
    static __device__ __forceinline__ T down(T value, unsigned distance, int width = lanes)
    {
        return (T)__shfl_down_sync(present(), (carrier<T>)value, distance, width);
    }
    template <class T>
    static __device__ __forceinline__ T exclusive(T value, int mask, int width = lanes)
    {
        return (T)__shfl_xor_sync(present(), (carrier<T>)value, mask, width);
    }
};

__device__ __forceinline__ unsigned long long ballot(int predicate)
{
    return __ballot_sync(present(), predicate);
}

__device__ __forceinline__ int any(int predicate)
{
    return __any_sync(present(), predicate);
}

__device__ __forceinline__ int all(int predicate)
{
    return __all_sync(present(), predicate);
}

template <class T> __device__ __forceinline__ unsigned long long match_any(T value)
{
    return __match_any_sync(present(), value);
}

template <class T> __device__ __forceinline__ unsigned long long match_all(T value, int *predicate)
{
    return __match_all_sync(present(), value, predicate);
}

/* An integer type of 64 bits. */
template <class M>
using if_64_bits = std::enable_if_t<std::is_integral_v<M> && sizeof(M) == 8, int>;
} // namespace kgrade_hip

#define KGRADE_HIP_SECOND(first, second, ...) second
#define KGRADE_HIP_ABOVE(number, most)                                                             \
    (__builtin_constant_p(number) && (long long)(number) > (long long)(most))
#define KGRADE_HIP_FOR_64(distance, width, ...)                                                    \
    (KGRADE_HIP_ABOVE(width, 32) || KGRADE_HIP_ABOVE(distance, 31))
#define KGRADE_HIP_SHUFFLE(which, value, ...)                                                      \
    kgrade_hip::shuffle<KGRADE_HIP_FOR_64(__VA_ARGS__, 32, 32)>::which(value, __VA_ARGS__)

#define __shfl(value, ...) KGRADE_HIP_SHUFFLE(from, value, __VA_ARGS__)
#define __shfl_up(value, ...) KGRADE_HIP_SHUFFLE(up, value, __VA_ARGS__)
#define __shfl_down(value, ...) KGRADE_HIP_SHUFFLE(down, value, __VA_ARGS__)
#define __shfl_xor(value, ...) KGRADE_HIP_SHUFFLE(exclusive, value, __VA_ARGS__)
#define __ballot(predicate) kgrade_hip::ballot(predicate)
#define __any(predicate) kgrade_hip::any(predicate)
#define __all(predicate) kgrade_hip::all(predicate)
#define __match_any(value) kgrade_hip::match_any(value)
#define __match_all(value, predicate) kgrade_hip::match_all(value, predicate)

/* --- masks of 64 bits --- */

#define KGRADE_HIP_MASK_64                                                                         \
    [[deprecated(                                                                                  \
        "a mask for 64 lanes: an NVIDIA warp has 32, and the upper half of the mask is dropped")]]
#define KGRADE_HIP_MASKED(name, parameter)                                                         \
    template <class M, class T, kgrade_hip::if_64_bits<M> = 0>                                     \
    KGRADE_HIP_MASK_64 __device__ __forceinline__ T name(M mask, T value, parameter at,            \
                                                         int width = kgrade_hip::lanes)            \
    {                                                                                              \
        return (T)name((unsigned)mask, (kgrade_hip::carrier<T>)value, at, width);                  \
    }

KGRADE_HIP_MASKED(__shfl_sync, int)
KGRADE_HIP_MASKED(__shfl_up_sync, unsigned)
KGRADE_HIP_MASKED(__shfl_down_sync, unsigned)
KGRADE_HIP_MASKED(__shfl_xor_sync, int)

template <class M, kgrade_hip::if_64_bits<M> = 0>
KGRADE_HIP_MASK_64 __device__ __forceinline__ unsigned long long __ballot_sync(M mask,
                                                                               int predicate)
{
    return __ballot_sync((unsigned)mask, predicate);
}

template <class M, kgrade_hip::if_64_bits<M> = 0>
KGRADE_HIP_MASK_64 __device__ __forceinline__ int __any_sync(M mask, int predicate)
{
    return __any_sync((unsigned)mask, predicate);
}

template <class M, kgrade_hip::if_64_bits<M> = 0>
KGRADE_HIP_MASK_64 __device__ __forceinline__ int __all_sync(M mask, int predicate)
{
    return __all_sync((unsigned)mask, predicate);
}

template <class M, kgrade_hip::if_64_bits<M> = 0>
KGRADE_HIP_MASK_64 __device__ __forceinline__ void __syncwarp(M mask)
{
    __syncwarp((unsigned)mask);
}

/* --- lanes --- */

__device__ __forceinline__ unsigned __lane_id()
{
    unsigned lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

__device__ __forceinline__ unsigned long long __lanemask_lt()
{
    unsigned mask;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    return mask;
}

__device__ __forceinline__ unsigned long long __lanemask_gt()
{
    unsigned mask;
    asm("mov.u32 %0, %%lanemask_gt;" : "=r"(mask));
    return mask;
}

#endif
