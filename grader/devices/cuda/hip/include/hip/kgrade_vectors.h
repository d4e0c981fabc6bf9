/*
 * Arithmetic of vectors by element, which HIP's types have and CUDA's do not.  Templates, so that a candidate's own operators
 * for the same types are preferred.
 */
#ifndef KGRADE_HIP_VECTORS_H
#define KGRADE_HIP_VECTORS_H

#include <type_traits>

#include "hip_runtime_api.h"

namespace kgrade_hip
{
template <class V> struct vector_of {
    static constexpr int n = 0;
};
#define KGRADE_HIP_VECTOR(type, scalar, length)                                                    \
    template <> struct vector_of<type> {                                                           \
        using element = scalar;                                                                    \
        static constexpr int n = length;                                                           \
    };
#define KGRADE_HIP_VECTORS(type, scalar)                                                           \
    KGRADE_HIP_VECTOR(type##2, scalar, 2)                                                          \
    KGRADE_HIP_VECTOR(type##3, scalar, 3)                                                          \
    KGRADE_HIP_VECTOR(type##4, scalar, 4)
KGRADE_HIP_VECTORS(float, float)
KGRADE_HIP_VECTORS(int, int)
KGRADE_HIP_VECTORS(uint, unsigned)
KGRADE_HIP_VECTOR(double2, double, 2)
KGRADE_HIP_VECTOR(double3, double, 3)

template <class V> using if_vector = std::enable_if_t<(vector_of<V>::n > 0), int>;
template <class V> using element = typename vector_of<V>::element;
} // namespace kgrade_hip

#define KGRADE_HIP_ARITHMETIC(op)                                                                  \
    template <class V, kgrade_hip::if_vector<V> = 0>                                               \
    __host__ __device__ __forceinline__ V &operator op##=(V &a, const V &b)                        \
    {                                                                                              \
        a.x op## = b.x;                                                                            \
        a.y op## = b.y;                                                                            \
        if constexpr (kgrade_hip::vector_of<V>::n > 2)                                             \
            a.z op## = b.z;                                                                        \
        if constexpr (kgrade_hip::vector_of<V>::n > 3)                                             \
            a.w op## = b.w;                                                                        \
        return a;                                                                                  \
    }                                                                                              \
    template <class V, kgrade_hip::if_vector<V> = 0>                                               \
    __host__ __device__ __forceinline__ V &operator op##=(V &a, kgrade_hip::element<V> b)          \
    {                                                                                              \
        a.x op## = b;                                                                              \
        a.y op## = b;                                                                              \
        if constexpr (kgrade_hip::vector_of<V>::n > 2)                                             \
            a.z op## = b;                                                                          \
        if constexpr (kgrade_hip::vector_of<V>::n > 3)                                             \
            a.w op## = b;                                                                          \
        return a;                                                                                  \
    }                                                                                              \
    template <class V, kgrade_hip::if_vector<V> = 0>                                               \
    __host__ __device__ __forceinline__ V operator op(const V &a, const V &b)                      \
    {                                                                                              \
        V result = a;                                                                              \
        return result op## = b;                                                                    \
    }                                                                                              \
    template <class V, kgrade_hip::if_vector<V> = 0>                                               \
    __host__ __device__ __forceinline__ V operator op(const V &a, kgrade_hip::element<V> b)        \
    {                                                                                              \
        V result = a;                                                                              \
        return result op## = b;                                                                    \
    }

KGRADE_HIP_ARITHMETIC(+)
KGRADE_HIP_ARITHMETIC(-)
KGRADE_HIP_ARITHMETIC(*)
KGRADE_HIP_ARITHMETIC(/)

template <class V, kgrade_hip::if_vector<V> = 0>
__host__ __device__ __forceinline__ V operator*(kgrade_hip::element<V> a, const V &b)
{
    return b * a;
}

#endif
