#include "driver.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../../sandbox/base/fail.h"

#define DEVICE_HINT                                                                                \
    "Run `kgrade doctor`: the driver must be loaded, match the CUDA Toolkit, and the card must "   \
    "be free."

int driver_fail(kgrade_error *err, const char *code, CUresult result, const char *what)
{
    const char *name = NULL, *text = NULL;
    cuGetErrorName(result, &name);
    cuGetErrorString(result, &text);
    driver_trace("failed: %s: %s (%d)", what, name ? name : "unknown error", (int)result);
    return fail(err, code, DEVICE_HINT, "%s: %s (%d), %s.", what, name ? name : "unknown error",
                (int)result, text ? text : "no description");
}

const char *driver_kernel_fault(CUresult result)
{
    static const struct {
        CUresult result;
        const char *text;
    } faults[] = {
        {CUDA_ERROR_ILLEGAL_ADDRESS, "A kernel used an address that is not mapped"},
        {CUDA_ERROR_LAUNCH_TIMEOUT, "A kernel ran into the driver's time limit"},
        {CUDA_ERROR_ASSERT, "A kernel's assert failed"},
        {CUDA_ERROR_HARDWARE_STACK_ERROR, "A kernel overran its stack"},
        {CUDA_ERROR_ILLEGAL_INSTRUCTION, "A kernel executed an illegal instruction"},
        {CUDA_ERROR_MISALIGNED_ADDRESS,
         "A kernel used an address that is not aligned to its access"},
        {CUDA_ERROR_INVALID_ADDRESS_SPACE, "A kernel used an address of the wrong memory space"},
        {CUDA_ERROR_INVALID_PC, "A kernel jumped outside its code"},
        {CUDA_ERROR_LAUNCH_FAILED, "A kernel trapped"},
        {CUDA_ERROR_TENSOR_MEMORY_LEAK, "A kernel ended without freeing its tensor memory"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        if (faults[i].result == result)
            return faults[i].text;
    return NULL;
}

bool driver_debug(void)
{
    static int wanted = -1;
    if (wanted < 0) {
        const char *value = getenv("KGRADE_DEBUG");
        wanted = value && *value;
    }
    return wanted;
}

void driver_trace(const char *format, ...)
{
    if (!driver_debug())
        return;
    char line[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    fprintf(stderr, "kgrade cuda: %s\n", line);
}

int driver_open(struct driver_context *ret, unsigned int schedule, kgrade_error *err)
{
    struct driver_context c = {0};
    int count = 0;
    DRIVER_TRY(err, cuInit(0));
    DRIVER_TRY(err, cuDeviceGetCount(&count));
    if (count == 0)
        return fail(err, "device_failed", DEVICE_HINT, "The driver sees no CUDA device.");
    DRIVER_TRY(err, cuDeviceGet(&c.device, 0));
    c.major = driver_attribute(&c, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    c.minor = driver_attribute(&c, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    /* A context that is already active keeps its flags; that is no failure. */
    CUresult flags = cuDevicePrimaryCtxSetFlags(c.device, schedule | CU_CTX_MAP_HOST);
    if (flags != CUDA_SUCCESS)
        driver_trace("the context's flags were not set (%d)", (int)flags);
    DRIVER_TRY(err, cuDevicePrimaryCtxRetain(&c.context, c.device));
    CUresult current = cuCtxSetCurrent(c.context);
    if (current != CUDA_SUCCESS) {
        cuDevicePrimaryCtxRelease(c.device);
        return driver_fail(err, "device_failed", current, "cuCtxSetCurrent");
    }
    driver_trace("context made on a device of compute capability %d.%d", c.major, c.minor);
    *ret = c;
    return 0;
}

void driver_close(struct driver_context *context)
{
    if (context->context)
        cuDevicePrimaryCtxRelease(context->device);
    context->context = NULL;
}

int driver_attribute(const struct driver_context *context, CUdevice_attribute attribute)
{
    int value = 0;
    return cuDeviceGetAttribute(&value, attribute, context->device) == CUDA_SUCCESS ? value : 0;
}
