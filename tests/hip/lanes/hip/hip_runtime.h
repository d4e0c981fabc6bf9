/*
 * HIP on the processor, one lane after the other: enough of it to run the baselines of the tasks and see whether their answers are
 * right on a card whose waves have 64 lanes.  Lanes are fibers (lanes.cpp); a barrier waits for the block, an exchange for the lanes of
 * the wave that take part.  Slow, and says nothing about speed.
 *
 * What it cannot show: lanes run one after the other between barriers, so a race is found only when this order loses it.
 */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <functional>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
#define HIP_DYNAMIC_SHARED(type, name) type *name = (type *)lanes_shared;
#define HIP_KERNEL_NAME(...) __VA_ARGS__

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z)
    {
    }
};
struct alignas(16) float4 {
    float x, y, z, w;
};
static inline float4 operator+(float4 a, float4 b)
{
    return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

constexpr int warpSize = 64;
extern uint3 lanes_thread, lanes_block;
extern dim3 lanes_threads, lanes_blocks;
extern void *lanes_shared;
#define threadIdx lanes_thread
#define blockIdx lanes_block
#define blockDim lanes_threads
#define gridDim lanes_blocks

/* Gives `bytes` (at most 16) to the wave, and takes what lane `from` has given; without it, when that lane does not take part,
 * bytes that are no sensible value. */
void lanes_exchange(void *value, size_t bytes, int from);
/* The lanes that take part and whose value is true. */
unsigned long long lanes_ballot(bool value);
int lanes_lane();
void __syncthreads();
void lanes_launch(dim3 blocks, dim3 threads, size_t shared, const std::function<void()> &kernel);

/* From another lane of the own group of `width`; outside it, the own value. */
template <class T> T lanes_from(T v, int from, bool inside)
{
    lanes_exchange(&v, sizeof v, inside ? from : lanes_lane());
    return v;
}
template <class T> T __shfl(T v, int from, int width = warpSize)
{
    return lanes_from(v, lanes_lane() / width * width + from % width, true);
}
template <class T> T __shfl_xor(T v, int mask, int width = warpSize)
{
    int from = lanes_lane() ^ mask;
    return lanes_from(v, from, from / width == lanes_lane() / width);
}
template <class T> T __shfl_down(T v, int by, int width = warpSize)
{
    return lanes_from(v, lanes_lane() + by, lanes_lane() % width + by < width);
}
template <class T> T __shfl_up(T v, int by, int width = warpSize)
{
    return lanes_from(v, lanes_lane() - by, lanes_lane() % width >= by);
}
static inline unsigned long long __ballot(bool value)
{
    return lanes_ballot(value);
}

template <class T> T atomicAdd(T *at, T v)
{
    T before = *at;
    *at += v;
    return before;
}
static inline int __popcll(unsigned long long v)
{
    return __builtin_popcountll(v);
}
static inline unsigned __float_as_uint(float v)
{
    unsigned bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}
static inline float __uint_as_float(unsigned bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
static inline float rsqrtf(float v)
{
    return 1 / sqrtf(v);
}

typedef struct ihipStream_t *hipStream_t;
enum hipError_t { hipSuccess, hipErrorOutOfMemory = 2 };
enum hipDeviceAttribute_t { hipDeviceAttributeMultiprocessorCount };
struct hipDeviceProp_t {
    int multiProcessorCount;
};
template <class T> hipError_t hipMalloc(T **at, size_t bytes)
{
    *at = (T *)calloc(1, bytes);
    return *at ? hipSuccess : hipErrorOutOfMemory;
}
static inline hipError_t hipMemsetAsync(void *at, int value, size_t bytes, hipStream_t)
{
    memset(at, value, bytes);
    return hipSuccess;
}
static inline hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t, int)
{
    *value = 3;
    return hipSuccess;
}
static inline hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int)
{
    properties->multiProcessorCount = 3;
    return hipSuccess;
}

#define hipLaunchKernelGGL(kernel, blocks, threads, shared, stream, ...)                           \
    ((void)(stream), lanes_launch(blocks, threads, shared, [=]() { kernel(__VA_ARGS__); }))
