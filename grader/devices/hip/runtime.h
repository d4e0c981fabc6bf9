/*
 * HIP's library (libamdhip64), opened at run time.  $KGRADE_HIP_RUNTIME names another file in its place; results tell which one it was, so that a
 * stand-in never passes for hardware.
 */
#ifndef KGRADE_HIP_RUNTIME_H
#define KGRADE_HIP_RUNTIME_H

#include <stdbool.h>

#include "../../../sandbox/base/error.h"
#include "abi.h"

#define RUNTIME_VARIABLE "KGRADE_HIP_RUNTIME"
/* From here on the graph functions are complete, and memory can be mapped at a chosen address by structures laid out as in
 * abi.h. */
#define RUNTIME_MAPS_FROM 60000000

/*
 * NAME(result and arguments): what all workers need, what the replayer needs on top, and what is done without where it is missing.
 */
#define RUNTIME_REQUIRED(F)                                                                        \
    F(hipGetDeviceCount, (int *))                                                                  \
    F(hipSetDevice, (int))                                                                         \
    F(hipRuntimeGetVersion, (int *))                                                               \
    F(hipDriverGetVersion, (int *))                                                                \
    F(hipDeviceGetName, (char *, int, hip_device))                                                 \
    F(hipDeviceTotalMem, (size_t *, hip_device))                                                   \
    F(hipDeviceGetAttribute, (int *, int, int))                                                    \
    F(hipGetLastError, (void))                                                                     \
    F(hipDeviceSynchronize, (void))                                                                \
    F(hipMalloc, (void **, size_t))                                                                \
    F(hipFree, (void *))                                                                           \
    F(hipMemcpy, (void *, const void *, size_t, int))                                              \
    F(hipMemset, (void *, int, size_t))                                                            \
    F(hipMemcpyAsync, (void *, const void *, size_t, int, hip_stream))                             \
    F(hipMemsetAsync, (void *, int, size_t, hip_stream))                                           \
    F(hipMemsetD16Async, (void *, unsigned short, size_t, hip_stream))                             \
    F(hipMemsetD32Async, (void *, int, size_t, hip_stream))                                        \
    F(hipStreamCreateWithFlags, (hip_stream *, unsigned))                                          \
    F(hipStreamDestroy, (hip_stream))                                                              \
    F(hipStreamSynchronize, (hip_stream))                                                          \
    F(hipStreamQuery, (hip_stream))                                                                \
    F(hipStreamWaitEvent, (hip_stream, hip_event, unsigned))                                       \
    F(hipModuleLoadData, (hip_module *, const void *))                                             \
    F(hipModuleUnload, (hip_module))                                                               \
    F(hipModuleGetFunction, (hip_function *, hip_module, const char *))                            \
    F(hipModuleGetGlobal, (void **, size_t *, hip_module, const char *))                           \
    F(hipModuleLaunchKernel, (hip_function, unsigned, unsigned, unsigned, unsigned, unsigned,      \
                              unsigned, unsigned, hip_stream, void **, void **))                   \
    F(hipEventCreateWithFlags, (hip_event *, unsigned))                                            \
    F(hipEventDestroy, (hip_event))                                                                \
    F(hipEventRecord, (hip_event, hip_stream))                                                     \
    F(hipEventSynchronize, (hip_event))                                                            \
    F(hipEventQuery, (hip_event))                                                                  \
    F(hipEventElapsedTime, (float *, hip_event, hip_event))

#define RUNTIME_REPLAY(F)                                                                          \
    F(hipStreamBeginCapture, (hip_stream, int))                                                    \
    F(hipStreamEndCapture, (hip_stream, hip_graph *))                                              \
    F(hipStreamIsCapturing, (hip_stream, int *))                                                   \
    F(hipGraphCreate, (hip_graph *, unsigned))                                                     \
    F(hipGraphAddEmptyNode, (hip_node *, hip_graph, const hip_node *, size_t))                     \
    F(hipGraphInstantiate, (hip_graph_exec *, hip_graph, hip_node *, char *, size_t))              \
    F(hipGraphLaunch, (hip_graph_exec, hip_stream))                                                \
    F(hipGraphExecDestroy, (hip_graph_exec))                                                       \
    F(hipGraphDestroy, (hip_graph))                                                                \
    F(hipGraphGetNodes, (hip_graph, hip_node *, size_t *))                                         \
    F(hipGraphKernelNodeGetParams, (hip_node, hip_kernel_node *))

#define RUNTIME_OPTIONAL(F)                                                                        \
    F(hipMemGetAllocationGranularity, (size_t *, const hip_allocation *, int))                     \
    F(hipMemAddressReserve, (void **, size_t, size_t, void *, unsigned long long))                 \
    F(hipMemAddressFree, (void *, size_t))                                                         \
    F(hipMemCreate, (hip_memory *, size_t, const hip_allocation *, unsigned long long))            \
    F(hipMemRelease, (hip_memory))                                                                 \
    F(hipMemMap, (void *, size_t, size_t, hip_memory, unsigned long long))                         \
    F(hipMemUnmap, (void *, size_t))                                                               \
    F(hipMemSetAccess, (void *, size_t, const hip_access *, size_t))                               \
    F(hipStreamGetCaptureInfo_v2,                                                                  \
      (hip_stream, int *, unsigned long long *, hip_graph *, const hip_node **, size_t *))         \
    F(hipStreamUpdateCaptureDependencies, (hip_stream, hip_node *, size_t, unsigned))              \
    F(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, (int *, hip_function, int, size_t))      \
    F(hipGetDevicePropertiesR0600, (void *, int))                                                  \
    F(hipGetDeviceProperties, (void *, int))

struct runtime {
#define RUNTIME_MEMBER(name, arguments) hip_error(*name) arguments;
    RUNTIME_REQUIRED(RUNTIME_MEMBER)
    RUNTIME_REPLAY(RUNTIME_MEMBER)
    RUNTIME_OPTIONAL(RUNTIME_MEMBER)
#undef RUNTIME_MEMBER
    const char *(*hipGetErrorName)(hip_error);
    const char *(*hipGetErrorString)(hip_error);
    void *library;
    char path[4096]; /* of the library, or its name where the loader does not tell */
    int version;     /* major * 10^7 + minor * 10^5 + patch */
    char target[64]; /* of device 0: "gfx90a", "gfx90a:sramecc+:xnack-" */
    char warning
        [256];      /* what is known to be wrong with this version on this device; "" for nothing */
    bool can_map;   /* memory can be mapped at an address that is asked for */
    bool has_edges; /* the order of captured work can be set */
    bool is_open;
};

/* The one of this process. */
extern struct runtime hip;

enum runtime_need { RUNTIME_FOR_RECORD, RUNTIME_FOR_REPLAY };

/* Opens the library and device 0.  Errors: `device_failed` (no library, no device), `runtime_incomplete` (all missing functions are
 * named), `runtime_known_bad`. */
int runtime_open(enum runtime_need need, kgrade_error *err);

/*
 * What is known of a version on a target: 0, or -1 with `runtime_known_bad`; *ret_warning is "" or what is to be told in results.
 * release: of ROCm, "7.2.1-81", from the file .info/version of its folder; "" where it is not known.  The library's own version has a
 * build's number where the release has its last digit.
 */
int runtime_check_version(int version, const char *release, const char *target, char *ret_warning,
                          size_t size, kgrade_error *err);

/* "7.2.1" */
void runtime_version_text(int version, char *ret, size_t size);

/* The first target name in a device's properties; false when there is none.  Where in them it lies changed with version 6. */
bool runtime_find_target(const void *properties, size_t size, char *ret, size_t ret_size);

/* Makes an error of a result; always -1. */
int runtime_fail(kgrade_error *err, const char *code, hip_error result, const char *what);

/* What a kernel did, when `result` is an error that only a kernel's own behaviour causes; NULL for every other one. */
const char *runtime_kernel_fault(hip_error result);

/* A call of the table's, hip.NAME(...), in a function with `err`: returns -1 from the caller with `device_failed` when it
 * fails. */
#define RUNTIME_TRY(err, call)                                                                     \
    do {                                                                                           \
        hip_error runtime_result_ = (call);                                                        \
        if (runtime_result_ != HIP_SUCCESS)                                                        \
            return runtime_fail(err, "device_failed", runtime_result_,                             \
                                sizeof("hip.") - 1 + #call);                                       \
    } while (0)

/* Steps to standard error when KGRADE_DEBUG is set and not empty. */
void runtime_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
