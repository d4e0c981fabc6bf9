/*
 * HIP as its library offers it: the functions, structures and numbers that kgrade uses.  Not AMD's header, for two reasons: the device is
 * built everywhere, and the library is opened at run time, whichever version of it there is.  What is here is the same in all
 * versions from 5.2 to 7 but where it says otherwise; abi_check.c compares it with AMD's header where that is installed.
 */
#ifndef KGRADE_HIP_ABI_H
#define KGRADE_HIP_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int hip_error; /* hipError_t */

enum {
    HIP_SUCCESS = 0,
    HIP_ERROR_INVALID_VALUE = 1,
    HIP_ERROR_OUT_OF_MEMORY = 2,
    HIP_ERROR_INVALID_CONFIGURATION = 9,
    HIP_ERROR_INVALID_SYMBOL = 13,
    HIP_ERROR_INVALID_DEVICE_FUNCTION = 98,
    HIP_ERROR_NO_DEVICE = 100,
    HIP_ERROR_INVALID_DEVICE = 101,
    HIP_ERROR_INVALID_IMAGE = 200,
    HIP_ERROR_NO_BINARY_FOR_GPU = 209,
    HIP_ERROR_INVALID_HANDLE = 400,
    HIP_ERROR_NOT_FOUND = 500,
    HIP_ERROR_NOT_READY = 600,
    HIP_ERROR_ILLEGAL_ADDRESS = 700,
    HIP_ERROR_LAUNCH_TIMEOUT = 702,
    HIP_ERROR_ASSERT = 710,
    HIP_ERROR_LAUNCH_FAILURE = 719,
    HIP_ERROR_NOT_SUPPORTED = 801,
    HIP_ERROR_CAPTURE_UNSUPPORTED = 900,
};

typedef struct {
    uint32_t x, y, z;
} hip_dim3;

/* Handles. */
typedef void *hip_stream, *hip_event, *hip_module, *hip_function, *hip_graph, *hip_graph_exec,
    *hip_node, *hip_memory;
typedef int hip_device;

#define HIP_STREAM_LEGACY ((hip_stream)(uintptr_t)1)
#define HIP_STREAM_PER_THREAD ((hip_stream)(uintptr_t)2)

enum {
    HIP_STREAM_NON_BLOCKING = 1,
    HIP_COPY_HOST_TO_HOST = 0,
    HIP_COPY_HOST_TO_DEVICE = 1,
    HIP_COPY_DEVICE_TO_HOST = 2,
    HIP_COPY_DEVICE_TO_DEVICE = 3,
    HIP_COPY_DEFAULT = 4,
    HIP_CAPTURE_THREAD_LOCAL = 1, /* hipStreamCaptureMode */
    HIP_CAPTURE_NONE = 0,         /* hipStreamCaptureStatus */
    HIP_CAPTURE_ACTIVE = 1,
    HIP_SET_CAPTURE_DEPENDENCIES = 1,
    HIP_ATTRIBUTE_L2_CACHE_SIZE = 19,
    HIP_ATTRIBUTE_MULTIPROCESSORS = 63,
    HIP_ATTRIBUTE_SHARED_PER_BLOCK = 74,
    HIP_LOCATION_DEVICE = 1,
    HIP_ALLOCATION_PINNED = 1,
    HIP_ACCESS_READ_WRITE = 3,
};

/* In the launch path's `extra`. */
#define HIP_LAUNCH_BUFFER ((void *)(uintptr_t)1)
#define HIP_LAUNCH_BUFFER_SIZE ((void *)(uintptr_t)2)
#define HIP_LAUNCH_END ((void *)(uintptr_t)3)

typedef struct {
    hip_dim3 block;
    void **extra;
    void *function;
    hip_dim3 grid;
    void **parameters;
    uint32_t shared_bytes;
} hip_kernel_node;

typedef struct {
    int type, id;
} hip_location;

/* From version 6 on; in 5 the fields had another order. */
typedef struct {
    int type, handle_type;
    hip_location location;
    void *win32;
    struct {
        unsigned char compression, rdma;
        unsigned short usage;
    } flags;
} hip_allocation;

typedef struct {
    hip_location location;
    int flags;
} hip_access;

/* What a compiled program holds for __hipRegisterFatBinary. */
#define HIP_FAT_BINARY_MAGIC 0x48495046u /* "HIPF" */
typedef struct {
    uint32_t magic, version;
    const void *bundle;
    void *unused;
} hip_fat_binary;

#endif
