/* abi.h against the header of the HIP that is installed, if there is one.  Nothing here runs. */
#if __has_include(<hip/hip_runtime_api.h>)
#include <stddef.h>

/* Two of its names are ours. */
#define HIP_SUCCESS THEIR_HIP_SUCCESS
#define HIP_ERROR_INVALID_VALUE THEIR_HIP_ERROR_INVALID_VALUE
#include <hip/hip_runtime_api.h>
#undef HIP_SUCCESS
#undef HIP_ERROR_INVALID_VALUE

#include "abi.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)

SAME(HIP_SUCCESS, hipSuccess);
SAME(HIP_ERROR_INVALID_VALUE, hipErrorInvalidValue);
SAME(HIP_ERROR_OUT_OF_MEMORY, hipErrorOutOfMemory);
SAME(HIP_ERROR_INVALID_CONFIGURATION, hipErrorInvalidConfiguration);
SAME(HIP_ERROR_INVALID_SYMBOL, hipErrorInvalidSymbol);
SAME(HIP_ERROR_INVALID_DEVICE_FUNCTION, hipErrorInvalidDeviceFunction);
SAME(HIP_ERROR_NO_DEVICE, hipErrorNoDevice);
SAME(HIP_ERROR_INVALID_DEVICE, hipErrorInvalidDevice);
SAME(HIP_ERROR_INVALID_IMAGE, hipErrorInvalidImage);
SAME(HIP_ERROR_NO_BINARY_FOR_GPU, hipErrorNoBinaryForGpu);
SAME(HIP_ERROR_INVALID_HANDLE, hipErrorInvalidHandle);
SAME(HIP_ERROR_NOT_FOUND, hipErrorNotFound);
SAME(HIP_ERROR_NOT_READY, hipErrorNotReady);
SAME(HIP_ERROR_ILLEGAL_ADDRESS, hipErrorIllegalAddress);
SAME(HIP_ERROR_LAUNCH_TIMEOUT, hipErrorLaunchTimeOut);
SAME(HIP_ERROR_ASSERT, hipErrorAssert);
SAME(HIP_ERROR_LAUNCH_FAILURE, hipErrorLaunchFailure);
SAME(HIP_ERROR_NOT_SUPPORTED, hipErrorNotSupported);
SAME(HIP_ERROR_CAPTURE_UNSUPPORTED, hipErrorStreamCaptureUnsupported);
SAME(HIP_STREAM_NON_BLOCKING, hipStreamNonBlocking);
SAME(HIP_COPY_HOST_TO_HOST, hipMemcpyHostToHost);
SAME(HIP_COPY_HOST_TO_DEVICE, hipMemcpyHostToDevice);
SAME(HIP_COPY_DEVICE_TO_HOST, hipMemcpyDeviceToHost);
SAME(HIP_COPY_DEVICE_TO_DEVICE, hipMemcpyDeviceToDevice);
SAME(HIP_COPY_DEFAULT, hipMemcpyDefault);
SAME(HIP_CAPTURE_THREAD_LOCAL, hipStreamCaptureModeThreadLocal);
SAME(HIP_CAPTURE_NONE, hipStreamCaptureStatusNone);
SAME(HIP_CAPTURE_ACTIVE, hipStreamCaptureStatusActive);
SAME(HIP_SET_CAPTURE_DEPENDENCIES, hipStreamSetCaptureDependencies);
SAME(HIP_ATTRIBUTE_L2_CACHE_SIZE, hipDeviceAttributeL2CacheSize);
SAME(HIP_ATTRIBUTE_MULTIPROCESSORS, hipDeviceAttributeMultiprocessorCount);
SAME(HIP_ATTRIBUTE_SHARED_PER_BLOCK, hipDeviceAttributeMaxSharedMemoryPerBlock);
SAME(HIP_LOCATION_DEVICE, hipMemLocationTypeDevice);
SAME(HIP_ALLOCATION_PINNED, hipMemAllocationTypePinned);
SAME(HIP_ACCESS_READ_WRITE, hipMemAccessFlagsProtReadWrite);

SAME(sizeof(hip_dim3), sizeof(dim3));
SAME(sizeof(hip_access), sizeof(hipMemAccessDesc));
SAME(sizeof(hip_kernel_node), sizeof(hipKernelNodeParams));
SAME(offsetof(hip_kernel_node, block), offsetof(hipKernelNodeParams, blockDim));
SAME(offsetof(hip_kernel_node, extra), offsetof(hipKernelNodeParams, extra));
SAME(offsetof(hip_kernel_node, function), offsetof(hipKernelNodeParams, func));
SAME(offsetof(hip_kernel_node, grid), offsetof(hipKernelNodeParams, gridDim));
SAME(offsetof(hip_kernel_node, parameters), offsetof(hipKernelNodeParams, kernelParams));
SAME(offsetof(hip_kernel_node, shared_bytes), offsetof(hipKernelNodeParams, sharedMemBytes));
/* hip_allocation has the layout of version 6, and is used from there on. */
#if HIP_VERSION_MAJOR >= 6
SAME(sizeof(hip_allocation), sizeof(hipMemAllocationProp));
SAME(offsetof(hip_allocation, location), offsetof(hipMemAllocationProp, location));
#endif

#endif
