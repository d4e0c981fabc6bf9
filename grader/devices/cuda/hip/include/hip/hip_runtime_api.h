/*
 * The host side of HIP on CUDA's runtime: each name of HIP that is here stands for one of CUDA's with the same parameters and
 * the same meaning.  They are macros, so that calls keep what CUDA declares: default arguments, overloads, and a literal 0
 * for a stream.  What is not here does not compile, and the compiler says which name it is.
 *
 * Streams: launches without one go to the stream that is captured, as in CUDA (the compiler's per-thread default stream).
 * Texts of hipGetErrorString and hipGetErrorName are CUDA's.
 */
#ifndef KGRADE_HIP_RUNTIME_API_H
#define KGRADE_HIP_RUNTIME_API_H

#include "hip_common.h"

#include <cstring>
#include <cuda_runtime.h>

#define HIP_VERSION_MAJOR 6
#define HIP_VERSION_MINOR 0
#define HIP_VERSION_PATCH 0
#define HIP_VERSION (HIP_VERSION_MAJOR * 10000000 + HIP_VERSION_MINOR * 100000 + HIP_VERSION_PATCH)

/* --- types --- */

using hipError_t = cudaError_t;
using hipStream_t = cudaStream_t;
using hipEvent_t = cudaEvent_t;
using hipDevice_t = int;
using hipDeviceptr_t = void *;
using hipMemcpyKind = cudaMemcpyKind;
using hipMemPool_t = cudaMemPool_t;
using hipFuncAttributes = cudaFuncAttributes;
using hipFuncAttribute = cudaFuncAttribute;
using hipFuncCache_t = cudaFuncCache;
using hipLimit_t = cudaLimit;
using hipDeviceAttribute_t = cudaDeviceAttr;
using hipHostFn_t = cudaHostFn_t;
using hipPointerAttribute_t = cudaPointerAttributes;
using hipStreamCaptureMode = cudaStreamCaptureMode;
using hipStreamCaptureStatus = cudaStreamCaptureStatus;

/* --- errors --- */

#define hipSuccess cudaSuccess
#define hipErrorInvalidValue cudaErrorInvalidValue
#define hipErrorMemoryAllocation cudaErrorMemoryAllocation
#define hipErrorInvalidConfiguration cudaErrorInvalidConfiguration
#define hipErrorInvalidPitchValue cudaErrorInvalidPitchValue
#define hipErrorInvalidSymbol cudaErrorInvalidSymbol
#define hipErrorInvalidDevicePointer cudaErrorInvalidDevicePointer
#define hipErrorInvalidMemcpyDirection cudaErrorInvalidMemcpyDirection
#define hipErrorInsufficientDriver cudaErrorInsufficientDriver
#define hipErrorMissingConfiguration cudaErrorMissingConfiguration
#define hipErrorPriorLaunchFailure cudaErrorPriorLaunchFailure
#define hipErrorInvalidDeviceFunction cudaErrorInvalidDeviceFunction
#define hipErrorNoDevice cudaErrorNoDevice
#define hipErrorInvalidDevice cudaErrorInvalidDevice
#define hipErrorInvalidResourceHandle cudaErrorInvalidResourceHandle
#define hipErrorNotReady cudaErrorNotReady
#define hipErrorIllegalAddress cudaErrorIllegalAddress
#define hipErrorLaunchOutOfResources cudaErrorLaunchOutOfResources
#define hipErrorPeerAccessAlreadyEnabled cudaErrorPeerAccessAlreadyEnabled
#define hipErrorPeerAccessNotEnabled cudaErrorPeerAccessNotEnabled
#define hipErrorSetOnActiveProcess cudaErrorSetOnActiveProcess
#define hipErrorAssert cudaErrorAssert
#define hipErrorHostMemoryAlreadyRegistered cudaErrorHostMemoryAlreadyRegistered
#define hipErrorHostMemoryNotRegistered cudaErrorHostMemoryNotRegistered
#define hipErrorLaunchFailure cudaErrorLaunchFailure
#define hipErrorCooperativeLaunchTooLarge cudaErrorCooperativeLaunchTooLarge
#define hipErrorNotSupported cudaErrorNotSupported
#define hipErrorStreamCaptureUnsupported cudaErrorStreamCaptureUnsupported
#define hipErrorStreamCaptureInvalidated cudaErrorStreamCaptureInvalidated
#define hipErrorStreamCaptureImplicit cudaErrorStreamCaptureImplicit
#define hipErrorUnknown cudaErrorUnknown
#define hipErrorOutOfMemory cudaErrorMemoryAllocation
#define hipErrorNotInitialized cudaErrorInitializationError
#define hipErrorDeinitialized cudaErrorCudartUnloading
#define hipErrorInvalidImage cudaErrorInvalidKernelImage
#define hipErrorInvalidContext cudaErrorDeviceUninitialized
#define hipErrorNoBinaryForGpu cudaErrorNoKernelImageForDevice
#define hipErrorInvalidHandle cudaErrorInvalidResourceHandle
#define hipErrorNotFound cudaErrorSymbolNotFound
#define hipErrorLaunchTimeOut cudaErrorLaunchTimeout
#define hipGetLastError cudaGetLastError
#define hipPeekAtLastError cudaPeekAtLastError
#define hipGetErrorString cudaGetErrorString
#define hipGetErrorName cudaGetErrorName

/* --- devices --- */

#define hipGetDevice cudaGetDevice
#define hipSetDevice cudaSetDevice
#define hipGetDeviceCount cudaGetDeviceCount
#define hipDeviceSynchronize cudaDeviceSynchronize
#define hipDeviceReset cudaDeviceReset
#define hipDeviceSetCacheConfig cudaDeviceSetCacheConfig
#define hipDeviceSetLimit cudaDeviceSetLimit
#define hipDeviceGetLimit cudaDeviceGetLimit
#define hipDeviceGetStreamPriorityRange cudaDeviceGetStreamPriorityRange
#define hipDeviceGetAttribute cudaDeviceGetAttribute
#define hipDriverGetVersion cudaDriverGetVersion
#define hipRuntimeGetVersion cudaRuntimeGetVersion
#define hipLimitMallocHeapSize cudaLimitMallocHeapSize
#define hipLimitPrintfFifoSize cudaLimitPrintfFifoSize
#define hipLimitStackSize cudaLimitStackSize

/* --- questions about a device --- */

#define hipDeviceAttributeMaxThreadsPerBlock cudaDevAttrMaxThreadsPerBlock
#define hipDeviceAttributeMaxBlockDimX cudaDevAttrMaxBlockDimX
#define hipDeviceAttributeMaxBlockDimY cudaDevAttrMaxBlockDimY
#define hipDeviceAttributeMaxBlockDimZ cudaDevAttrMaxBlockDimZ
#define hipDeviceAttributeMaxGridDimX cudaDevAttrMaxGridDimX
#define hipDeviceAttributeMaxGridDimY cudaDevAttrMaxGridDimY
#define hipDeviceAttributeMaxGridDimZ cudaDevAttrMaxGridDimZ
#define hipDeviceAttributeMaxSharedMemoryPerBlock cudaDevAttrMaxSharedMemoryPerBlock
#define hipDeviceAttributeWarpSize cudaDevAttrWarpSize
#define hipDeviceAttributeMaxRegistersPerBlock cudaDevAttrMaxRegistersPerBlock
#define hipDeviceAttributeClockRate cudaDevAttrClockRate
#define hipDeviceAttributeMemoryClockRate cudaDevAttrMemoryClockRate
#define hipDeviceAttributeConcurrentKernels cudaDevAttrConcurrentKernels
#define hipDeviceAttributePciBusId cudaDevAttrPciBusId
#define hipDeviceAttributePciDeviceId cudaDevAttrPciDeviceId
#define hipDeviceAttributeMaxThreadsPerMultiProcessor cudaDevAttrMaxThreadsPerMultiProcessor
#define hipDeviceAttributeMaxSharedMemoryPerMultiprocessor                                         \
    cudaDevAttrMaxSharedMemoryPerMultiprocessor
#define hipDeviceAttributeComputeCapabilityMajor cudaDevAttrComputeCapabilityMajor
#define hipDeviceAttributeComputeCapabilityMinor cudaDevAttrComputeCapabilityMinor
#define hipDeviceAttributeCooperativeLaunch cudaDevAttrCooperativeLaunch
#define hipDeviceAttributeMaxRegistersPerMultiprocessor cudaDevAttrMaxRegistersPerMultiprocessor
#define hipDeviceAttributeManagedMemory cudaDevAttrManagedMemory
#define hipDeviceAttributeL2CacheSize cudaDevAttrL2CacheSize
#define hipDeviceAttributeMaxBlocksPerMultiprocessor cudaDevAttrMaxBlocksPerMultiprocessor
#define hipDeviceAttributeMultiprocessorCount cudaDevAttrMultiProcessorCount
#define hipDeviceAttributeMemoryBusWidth cudaDevAttrGlobalMemoryBusWidth
#define hipDeviceAttributeTotalConstantMemory cudaDevAttrTotalConstantMemory
#define hipDeviceAttributeIntegrated cudaDevAttrIntegrated
#define hipDeviceAttributeCanMapHostMemory cudaDevAttrCanMapHostMemory
#define hipDeviceAttributeComputeMode cudaDevAttrComputeMode
#define hipDeviceAttributeSharedMemPerBlockOptin cudaDevAttrMaxSharedMemoryPerBlockOptin
#define hipDeviceAttributeMemoryPoolsSupported cudaDevAttrMemoryPoolsSupported

/* A constant in HIP, so that arrays can be as long as it; CUDA's variable is not.  The member of hipDeviceProp_t is found by the
 * same name, that of cudaDeviceProp no longer. */
constexpr int kgrade_hip_warp_size = 32;
#define warpSize kgrade_hip_warp_size

/* The members that HIP documents; those that an NVIDIA card has not are 0. */
struct hipDeviceArch_t {
    unsigned hasGlobalInt32Atomics : 1, hasSharedInt32Atomics : 1, hasFloatAtomicAdd : 1,
        hasDoubles : 1, hasWarpVote : 1, hasWarpBallot : 1, hasWarpShuffle : 1;
};

struct hipDeviceProp_t {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    int clockRate, memoryClockRate; /* kHz */
    int memoryBusWidth;             /* bits */
    size_t totalConstMem;
    int major, minor;
    int multiProcessorCount, l2CacheSize, maxThreadsPerMultiProcessor, computeMode;
    hipDeviceArch_t arch;
    int concurrentKernels, pciDomainID, pciBusID, pciDeviceID, integrated, canMapHostMemory;
    size_t maxSharedMemoryPerMultiProcessor, sharedMemPerMultiprocessor, sharedMemPerBlockOptin;
    int regsPerMultiprocessor, isMultiGpuBoard, cooperativeLaunch, managedMemory, ECCEnabled;
    char gcnArchName[256]; /* "sm_90", where an AMD card says "gfx..." */
};

namespace kgrade_hip
{
inline int attribute(cudaDeviceAttr which, int device)
{
    int value = 0;
    cudaDeviceGetAttribute(&value, which, device);
    return value;
}

/* Called as hipGetDeviceProperties. */
inline hipError_t properties(hipDeviceProp_t *to, int device)
{
    cudaDeviceProp from;
    hipError_t status = to ? cudaGetDeviceProperties(&from, device) : cudaErrorInvalidValue;
    if (status != cudaSuccess)
        return status;
    *to = {};
    memcpy(to->name, from.name, sizeof to->name);
    to->totalGlobalMem = from.totalGlobalMem;
    to->sharedMemPerBlock = from.sharedMemPerBlock;
    to->regsPerBlock = from.regsPerBlock;
    to->warpSize = attribute(cudaDevAttrWarpSize, device);
    to->maxThreadsPerBlock = from.maxThreadsPerBlock;
    for (int i = 0; i < 3; i++) {
        to->maxThreadsDim[i] = from.maxThreadsDim[i];
        to->maxGridSize[i] = from.maxGridSize[i];
    }
    to->clockRate = attribute(cudaDevAttrClockRate, device);
    to->memoryClockRate = attribute(cudaDevAttrMemoryClockRate, device);
    to->memoryBusWidth = from.memoryBusWidth;
    to->totalConstMem = from.totalConstMem;
    to->major = from.major;
    to->minor = from.minor;
    to->multiProcessorCount = from.multiProcessorCount;
    to->l2CacheSize = from.l2CacheSize;
    to->maxThreadsPerMultiProcessor = from.maxThreadsPerMultiProcessor;
    to->computeMode = attribute(cudaDevAttrComputeMode, device);
    to->arch = {1, 1, 1, 1, 1, 1, 1};
    to->concurrentKernels = from.concurrentKernels;
    to->pciDomainID = from.pciDomainID;
    to->pciBusID = from.pciBusID;
    to->pciDeviceID = from.pciDeviceID;
    to->integrated = from.integrated;
    to->canMapHostMemory = from.canMapHostMemory;
    to->maxSharedMemoryPerMultiProcessor = to->sharedMemPerMultiprocessor =
        from.sharedMemPerMultiprocessor;
    to->sharedMemPerBlockOptin = from.sharedMemPerBlockOptin;
    to->regsPerMultiprocessor = from.regsPerMultiprocessor;
    to->isMultiGpuBoard = from.isMultiGpuBoard;
    to->cooperativeLaunch = from.cooperativeLaunch;
    to->managedMemory = from.managedMemory;
    to->ECCEnabled = from.ECCEnabled;
    memcpy(to->gcnArchName, "sm_", 3);
    to->gcnArchName[3] = (char)('0' + from.major % 100 / 10);
    char *at = to->gcnArchName + (from.major >= 10 ? 4 : 3);
    at[0] = (char)('0' + from.major % 10);
    at[1] = (char)('0' + from.minor % 10);
    return cudaSuccess;
}
} // namespace kgrade_hip

#define hipGetDeviceProperties(to, device) kgrade_hip::properties(to, device)

/* --- memory --- */

#define hipMalloc cudaMalloc
#define hipFree cudaFree
#define hipMallocAsync cudaMallocAsync
#define hipFreeAsync cudaFreeAsync
#define hipMallocManaged cudaMallocManaged
#define hipMallocPitch cudaMallocPitch
#define hipMemGetInfo cudaMemGetInfo
#define hipMemcpy cudaMemcpy
#define hipMemcpyAsync cudaMemcpyAsync
#define hipMemcpy2D cudaMemcpy2D
#define hipMemcpy2DAsync cudaMemcpy2DAsync
#define hipMemcpyToSymbol cudaMemcpyToSymbol
#define hipMemcpyToSymbolAsync cudaMemcpyToSymbolAsync
#define hipMemcpyFromSymbol cudaMemcpyFromSymbol
#define hipMemcpyFromSymbolAsync cudaMemcpyFromSymbolAsync
#define hipMemset cudaMemset
#define hipMemsetAsync cudaMemsetAsync
#define hipMemset2D cudaMemset2D
#define hipMemset2DAsync cudaMemset2DAsync
#define hipGetSymbolAddress cudaGetSymbolAddress
#define hipGetSymbolSize cudaGetSymbolSize
#define hipPointerGetAttributes cudaPointerGetAttributes
#define hipHostRegister cudaHostRegister
#define hipHostUnregister cudaHostUnregister
#define hipHostGetDevicePointer cudaHostGetDevicePointer
#define hipMemcpyHostToHost cudaMemcpyHostToHost
#define hipMemcpyHostToDevice cudaMemcpyHostToDevice
#define hipMemcpyDeviceToHost cudaMemcpyDeviceToHost
#define hipMemcpyDeviceToDevice cudaMemcpyDeviceToDevice
#define hipMemcpyDefault cudaMemcpyDefault
#define hipDeviceGetDefaultMemPool cudaDeviceGetDefaultMemPool
#define hipMallocFromPoolAsync cudaMallocFromPoolAsync
#define hipHostFree cudaFreeHost
#define hipFreeHost cudaFreeHost
#define HIP_SYMBOL(symbol) symbol
#define hipHostMallocDefault cudaHostAllocDefault
#define hipHostMallocPortable cudaHostAllocPortable
#define hipHostMallocMapped cudaHostAllocMapped
#define hipHostMallocWriteCombined cudaHostAllocWriteCombined
#define hipHostRegisterDefault cudaHostRegisterDefault
#define hipHostRegisterPortable cudaHostRegisterPortable
#define hipHostRegisterMapped cudaHostRegisterMapped
#define hipMemAttachGlobal cudaMemAttachGlobal
#define hipMemAttachHost cudaMemAttachHost

template <class T>
inline hipError_t hipHostMalloc(T **to, size_t bytes, unsigned flags = cudaHostAllocDefault)
{
    return cudaHostAlloc((void **)to, bytes, flags);
}

/* HIP takes these from CUDA's driver interface; here they are the runtime's copies. */
inline hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes,
                                     hipStream_t stream)
{
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}

inline hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, const void *from, size_t bytes,
                                     hipStream_t stream)
{
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream);
}

inline hipError_t hipMemcpyDtoHAsync(void *to, hipDeviceptr_t from, size_t bytes,
                                     hipStream_t stream)
{
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream);
}

inline hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t bytes,
                                   hipStream_t stream = nullptr)
{
    return cudaMemsetAsync(to, value, bytes, stream);
}

inline hipError_t hipMemcpyWithStream(void *to, const void *from, size_t bytes, hipMemcpyKind kind,
                                      hipStream_t stream)
{
    hipError_t status = cudaMemcpyAsync(to, from, bytes, kind, stream);
    return status == cudaSuccess ? cudaStreamSynchronize(stream) : status;
}

/* --- streams and events --- */

#define hipStreamCreate cudaStreamCreate
#define hipStreamCreateWithFlags cudaStreamCreateWithFlags
#define hipStreamCreateWithPriority cudaStreamCreateWithPriority
#define hipStreamDestroy cudaStreamDestroy
#define hipStreamSynchronize cudaStreamSynchronize
#define hipStreamQuery cudaStreamQuery
#define hipStreamWaitEvent cudaStreamWaitEvent
#define hipStreamGetFlags cudaStreamGetFlags
#define hipStreamGetPriority cudaStreamGetPriority
#define hipStreamIsCapturing cudaStreamIsCapturing
#define hipStreamDefault cudaStreamDefault
#define hipStreamNonBlocking cudaStreamNonBlocking
#define hipStreamPerThread cudaStreamPerThread
#define hipStreamLegacy cudaStreamLegacy
#define hipStreamCaptureStatusNone cudaStreamCaptureStatusNone
#define hipStreamCaptureStatusActive cudaStreamCaptureStatusActive
#define hipStreamCaptureStatusInvalidated cudaStreamCaptureStatusInvalidated
#define hipLaunchHostFunc cudaLaunchHostFunc
#define hipEventCreate cudaEventCreate
#define hipEventCreateWithFlags cudaEventCreateWithFlags
#define hipEventRecord cudaEventRecord
#define hipEventSynchronize cudaEventSynchronize
#define hipEventQuery cudaEventQuery
#define hipEventElapsedTime cudaEventElapsedTime
#define hipEventDestroy cudaEventDestroy
#define hipEventDefault cudaEventDefault
#define hipEventBlockingSync cudaEventBlockingSync
#define hipEventDisableTiming cudaEventDisableTiming

/* --- kernels --- */

#define hipLaunchKernel cudaLaunchKernel
#define hipLaunchCooperativeKernel cudaLaunchCooperativeKernel
#define hipFuncSetAttribute cudaFuncSetAttribute
#define hipFuncGetAttributes cudaFuncGetAttributes
#define hipFuncSetCacheConfig cudaFuncSetCacheConfig
#define hipFuncCachePreferNone cudaFuncCachePreferNone
#define hipFuncCachePreferShared cudaFuncCachePreferShared
#define hipFuncCachePreferL1 cudaFuncCachePreferL1
#define hipFuncCachePreferEqual cudaFuncCachePreferEqual
#define hipFuncAttributeMaxDynamicSharedMemorySize cudaFuncAttributeMaxDynamicSharedMemorySize
#define hipFuncAttributePreferredSharedMemoryCarveout cudaFuncAttributePreferredSharedMemoryCarveout
#define hipOccupancyMaxActiveBlocksPerMultiprocessor cudaOccupancyMaxActiveBlocksPerMultiprocessor
#define hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags                                      \
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
#define hipOccupancyMaxPotentialBlockSize cudaOccupancyMaxPotentialBlockSize
#define hipOccupancyMaxPotentialBlockSizeVariableSMem cudaOccupancyMaxPotentialBlockSizeVariableSMem
#define hipOccupancyAvailableDynamicSMemPerBlock cudaOccupancyAvailableDynamicSMemPerBlock
#define hipOccupancyDefault cudaOccupancyDefault
#define hipOccupancyDisableCachingOverride cudaOccupancyDisableCachingOverride

#endif
