/*
 * HIP for candidates that run on an NVIDIA card: names of HIP, as its public documentation has them, on CUDA 13.
 *
 *   hip_runtime_api.h   what the host calls
 *   kgrade_lanes.h      what the lanes of a warp exchange; warpSize
 *   kgrade_atomics.h    atomic operations that CUDA writes otherwise
 *   kgrade_vectors.h    arithmetic of float4 and its like
 *   kgrade_amd_only.h   what only AMD cards have: it does not compile, and says why
 *
 * What __launch_bounds__ takes second is CUDA's: blocks that a multiprocessor shall hold, where AMD's compiler counts waves of
 * an execution unit.
 */
#ifndef KGRADE_HIP_RUNTIME_H
#define KGRADE_HIP_RUNTIME_H

#include "hip_runtime_api.h"

#include <cstdint>
#include <cstdio>

/* These declare shuffles of their own, which must be known before kgrade_lanes.h takes their names. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kgrade_amd_only.h"
#include "kgrade_atomics.h"
#include "kgrade_lanes.h"
#include "kgrade_vectors.h"

/* --- launches --- */

/* A kernel's name with commas in it. */
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define hipLaunchKernelGGL(kernel, grid, block, shared_bytes, stream, ...)                         \
    kernel<<<grid, block, shared_bytes, stream>>>(__VA_ARGS__)

/* --- in kernels --- */

#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_DYNAMIC_SHARED_ATTRIBUTE

/* CUDA's compiler breaks down over it without saying where. */
#define _Float16 Float16_is_not_for_NVIDIA_cards_use___half

/* What HIP's compiler offers for memory that is touched once. */
template <class T> __device__ __forceinline__ T __builtin_nontemporal_load(const T *from)
{
    return __ldcs(from);
}

template <class T> __device__ __forceinline__ void __builtin_nontemporal_store(T value, T *to)
{
    __stcs(to, value);
}

#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z

#endif
