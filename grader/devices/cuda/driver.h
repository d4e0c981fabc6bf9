/* The CUDA driver API with errors in our form, and the context that each worker uses. */
#ifndef KGRADE_CUDA_DRIVER_H
#define KGRADE_CUDA_DRIVER_H

#include <cuda.h>
#include <stdbool.h>

#include "../../../sandbox/base/error.h"

/* Fails with `code` and "WHAT: NAME (NUMBER), DESCRIPTION."  Always returns -1. */
int driver_fail(kgrade_error *err, const char *code, CUresult result, const char *what);

/* What a kernel did, when `result` is one of the errors that a kernel's own behaviour causes and that end the context;
 * NULL for every other result. */
const char *driver_kernel_fault(CUresult result);

/* One driver call in a function with `err`: returns -1 from the caller with `device_failed` when it fails. */
#define DRIVER_TRY(err, call)                                                                      \
    do {                                                                                           \
        CUresult driver_result_ = (call);                                                          \
        if (driver_result_ != CUDA_SUCCESS)                                                        \
            return driver_fail(err, "device_failed", driver_result_, #call);                       \
    } while (0)

/* Steps to standard error when KGRADE_DEBUG is set and not empty. */
bool driver_debug(void);
void driver_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

struct driver_context {
    CUdevice device;
    CUcontext context; /* the device's primary context, so that the CUDA runtime shares it */
    int major, minor;  /* compute capability */
};

/* Initialises the driver and makes the primary context of device 0 current in this thread.  `schedule` is one of
 * CU_CTX_SCHED_*.  -1 with `device_failed`. */
int driver_open(struct driver_context *ret, unsigned int schedule, kgrade_error *err);
void driver_close(struct driver_context *context);

/* 0 when the attribute is unknown to the driver. */
int driver_attribute(const struct driver_context *context, CUdevice_attribute attribute);

#endif
