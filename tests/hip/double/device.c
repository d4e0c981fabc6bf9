#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "double.h"

#define TOTAL_BYTES (1ull << 30)
#define L2_BYTES (256 << 10)
#define SHARED_BYTES (64 << 10) /* of a block */
/* Where version 6 has the target in a device's properties. */
#define R0600_NAME 1160

static hipError_t state;
static bool hangs;

void device_break(hipError_t error)
{
    state = error;
}

hipError_t device_state(void)
{
    return state;
}

void device_hang(void)
{
    hangs = true;
}

bool device_hangs(void)
{
    return hangs;
}

DOUBLE_API hipError_t hipGetDeviceCount(int *count)
{
    *count = script_has("no_device") ? 0 : 1;
    return *count ? hipSuccess : hipErrorNoDevice;
}

DOUBLE_API hipError_t hipSetDevice(int deviceId)
{
    return deviceId == 0 ? device_state() : hipErrorInvalidDevice;
}

DOUBLE_API hipError_t hipRuntimeGetVersion(int *runtimeVersion)
{
    *runtimeVersion = (int)script_number("version", 70000000);
    return hipSuccess;
}

DOUBLE_API hipError_t hipDriverGetVersion(int *driverVersion)
{
    return hipRuntimeGetVersion(driverVersion);
}

DOUBLE_API hipError_t hipDeviceGetName(char *name, int len, hipDevice_t device)
{
    (void)device;
    snprintf(name, (size_t)len, "%s", DOUBLE_NAME);
    return device_state();
}

DOUBLE_API hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device)
{
    (void)device;
    *bytes = TOTAL_BYTES;
    return device_state();
}

DOUBLE_API hipError_t hipDeviceGetAttribute(int *pi, hipDeviceAttribute_t attr, int deviceId)
{
    (void)deviceId;
    switch ((int)attr) {
    case hipDeviceAttributeMultiprocessorCount:
        *pi = DOUBLE_PROCESSORS;
        break;
    case hipDeviceAttributeL2CacheSize:
        *pi = L2_BYTES;
        break;
    case hipDeviceAttributeWarpSize:
        *pi = 64;
        break;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
        *pi = SHARED_BYTES;
        break;
    case hipDeviceAttributeMaxThreadsPerBlock:
        *pi = 1024;
        break;
    default:
        *pi = 0;
        break;
    }
    return device_state();
}

DOUBLE_API hipError_t hipGetDeviceProperties(hipDeviceProp_t *prop, int deviceId)
{
    (void)deviceId;
    memset(prop, 0, sizeof *prop);
    snprintf(prop->name, sizeof prop->name, "%s", DOUBLE_NAME);
    snprintf(prop->gcnArchName, sizeof prop->gcnArchName, "%s",
             script_has("mi300x") ? "gfx942:sramecc+:xnack-" : DOUBLE_TARGET);
    return device_state();
}

/* The same in the layout of version 6, which this header does not have. */
DOUBLE_API hipError_t hipGetDevicePropertiesR0600(void *prop, int deviceId);
DOUBLE_API hipError_t hipGetDevicePropertiesR0600(void *prop, int deviceId)
{
    hipDeviceProp_t old;
    (void)hipGetDeviceProperties(&old, deviceId);
    memset(prop, 0, R0600_NAME);
    memcpy(prop, old.name, sizeof old.name);
    memcpy((char *)prop + R0600_NAME, old.gcnArchName, sizeof old.gcnArchName);
    return device_state();
}

DOUBLE_API const char *hipGetErrorName(hipError_t hip_error)
{
    switch ((int)hip_error) {
    case hipSuccess:
        return "hipSuccess";
    case hipErrorNoDevice:
        return "hipErrorNoDevice";
    case hipErrorIllegalAddress:
        return "hipErrorIllegalAddress";
    case hipErrorLaunchFailure:
        return "hipErrorLaunchFailure";
    default:
        return "hipErrorUnknown";
    }
}

DOUBLE_API const char *hipGetErrorString(hipError_t hipError)
{
    return hipError ? "an error of kgrade's test double" : "no error";
}

DOUBLE_API hipError_t hipGetLastError(void)
{
    return device_state();
}
