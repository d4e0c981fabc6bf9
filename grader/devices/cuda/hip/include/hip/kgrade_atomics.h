/* Atomic operations that HIP has and CUDA does not, or writes otherwise. */
#ifndef KGRADE_HIP_ATOMICS_H
#define KGRADE_HIP_ATOMICS_H

#include "hip_common.h"

/* One speed of additions is all that an NVIDIA card has. */
template <class T> __device__ __forceinline__ T unsafeAtomicAdd(T *at, T value)
{
    return atomicAdd(at, value);
}

template <class T> __device__ __forceinline__ T safeAtomicAdd(T *at, T value)
{
    return atomicAdd(at, value);
}

template <class T> __device__ __forceinline__ void atomicAddNoRet(T *at, T value)
{
    atomicAdd(at, value);
}

namespace kgrade_hip
{
/* NaN never replaces a number, and gives way to none. */
template <bool largest> __device__ __forceinline__ float replace_extreme(float *at, float value)
{
    int old = __float_as_int(*at), seen;
    do {
        seen = old;
        if (!(largest ? value > __int_as_float(seen) : value < __int_as_float(seen)))
            break;
        old = atomicCAS((int *)at, seen, __float_as_int(value));
    } while (old != seen);
    return __int_as_float(old);
}

template <bool largest> __device__ __forceinline__ double replace_extreme(double *at, double value)
{
    unsigned long long old = (unsigned long long)__double_as_longlong(*at), seen;
    do {
        seen = old;
        double now = __longlong_as_double((long long)seen);
        if (!(largest ? value > now : value < now))
            break;
        old = atomicCAS((unsigned long long *)at, seen,
                        (unsigned long long)__double_as_longlong(value));
    } while (old != seen);
    return __longlong_as_double((long long)old);
}
} // namespace kgrade_hip

__device__ __forceinline__ float atomicMax(float *at, float value)
{
    return kgrade_hip::replace_extreme<true>(at, value);
}

__device__ __forceinline__ float atomicMin(float *at, float value)
{
    return kgrade_hip::replace_extreme<false>(at, value);
}

__device__ __forceinline__ double atomicMax(double *at, double value)
{
    return kgrade_hip::replace_extreme<true>(at, value);
}

__device__ __forceinline__ double atomicMin(double *at, double value)
{
    return kgrade_hip::replace_extreme<false>(at, value);
}

/* --- with order and scope: constants, as the compiler wants them --- */

#define __HIP_MEMORY_SCOPE_SINGLETHREAD __NV_THREAD_SCOPE_THREAD
#define __HIP_MEMORY_SCOPE_WAVEFRONT __NV_THREAD_SCOPE_BLOCK /* the next larger that there is */
#define __HIP_MEMORY_SCOPE_WORKGROUP __NV_THREAD_SCOPE_BLOCK
#define __HIP_MEMORY_SCOPE_AGENT __NV_THREAD_SCOPE_DEVICE
#define __HIP_MEMORY_SCOPE_SYSTEM __NV_THREAD_SCOPE_SYSTEM

#define __hip_atomic_load(at, order, scope) __nv_atomic_load_n(at, order, scope)
#define __hip_atomic_store(at, value, order, scope) __nv_atomic_store_n(at, value, order, scope)
#define __hip_atomic_exchange(at, value, order, scope)                                             \
    __nv_atomic_exchange_n(at, value, order, scope)
#define __hip_atomic_compare_exchange_strong(at, expected, value, order, failed_order, scope)      \
    __nv_atomic_compare_exchange_n(at, expected, value, false, order, failed_order, scope)
#define __hip_atomic_compare_exchange_weak(at, expected, value, order, failed_order, scope)        \
    __nv_atomic_compare_exchange_n(at, expected, value, true, order, failed_order, scope)
#define __hip_atomic_fetch_add(at, value, order, scope)                                            \
    __nv_atomic_fetch_add(at, value, order, scope)
#define __hip_atomic_fetch_and(at, value, order, scope)                                            \
    __nv_atomic_fetch_and(at, value, order, scope)
#define __hip_atomic_fetch_or(at, value, order, scope) __nv_atomic_fetch_or(at, value, order, scope)
#define __hip_atomic_fetch_xor(at, value, order, scope)                                            \
    __nv_atomic_fetch_xor(at, value, order, scope)
#define __hip_atomic_fetch_min(at, value, order, scope)                                            \
    __nv_atomic_fetch_min(at, value, order, scope)
#define __hip_atomic_fetch_max(at, value, order, scope)                                            \
    __nv_atomic_fetch_max(at, value, order, scope)

#endif
