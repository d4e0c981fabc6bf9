/* Questions about the device, the version and the last error, for candidates. */
#define _GNU_SOURCE
#include "entry.h"

static _Thread_local hip_error last_error;

hip_error entry_done(hip_error result)
{
    if (result != HIP_SUCCESS)
        last_error = result;
    return result;
}

ENTRY(hip_error, hipGetLastError, (void))
{
    hip_error last = last_error, ours = hip.hipGetLastError();
    last_error = HIP_SUCCESS;
    return last != HIP_SUCCESS ? last : ours;
}

ENTRY(hip_error, hipPeekAtLastError, (void))
{
    return last_error;
}

ENTRY(const char *, hipGetErrorName, (hip_error result))
{
    return hip.hipGetErrorName(result);
}

ENTRY(const char *, hipGetErrorString, (hip_error result))
{
    return hip.hipGetErrorString(result);
}

ENTRY(hip_error, hipInit, (unsigned flags))
{
    (void)flags;
    return HIP_SUCCESS;
}

ENTRY(hip_error, hipGetDeviceCount, (int *ret))
{
    *ret = 1;
    return HIP_SUCCESS;
}

ENTRY(hip_error, hipGetDevice, (int *ret))
{
    *ret = 0;
    return HIP_SUCCESS;
}

ENTRY(hip_error, hipSetDevice, (int device))
{
    return entry_done(device == 0 ? HIP_SUCCESS : HIP_ERROR_INVALID_DEVICE);
}

/* The structure has another size in each major version: what the candidate was compiled for is in the name. */
ENTRY(hip_error, hipGetDeviceProperties, (void *ret, int device))
{
    return entry_done(hip.hipGetDeviceProperties ? hip.hipGetDeviceProperties(ret, device)
                                                 : HIP_ERROR_NOT_SUPPORTED);
}

ENTRY(hip_error, hipGetDevicePropertiesR0600, (void *ret, int device))
{
    return entry_done(hip.hipGetDevicePropertiesR0600 ? hip.hipGetDevicePropertiesR0600(ret, device)
                                                      : HIP_ERROR_NOT_SUPPORTED);
}

ENTRY(hip_error, hipDeviceGetAttribute, (int *ret, int attribute, int device))
{
    return entry_done(hip.hipDeviceGetAttribute(ret, attribute, device));
}

ENTRY(hip_error, hipDeviceGetName, (char *ret, int size, hip_device device))
{
    return entry_done(hip.hipDeviceGetName(ret, size, device));
}

ENTRY(hip_error, hipDeviceTotalMem, (size_t * ret, hip_device device))
{
    return entry_done(hip.hipDeviceTotalMem(ret, device));
}

ENTRY(hip_error, hipRuntimeGetVersion, (int *ret))
{
    return entry_done(hip.hipRuntimeGetVersion(ret));
}

ENTRY(hip_error, hipDriverGetVersion, (int *ret))
{
    return entry_done(hip.hipDriverGetVersion(ret));
}
