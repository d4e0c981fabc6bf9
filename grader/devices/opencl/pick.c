#include "pick.h"

#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"

#define MAX_PLATFORMS 16
#define MAX_DEVICES 16
#define MAX_EXTENSIONS 16384

const char *pick_error_name(cl_int code)
{
    static const struct {
        cl_int code;
        const char *name;
    } names[] = {{CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
                 {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
                 {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
                 {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
                 {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
                 {CL_INVALID_VALUE, "CL_INVALID_VALUE"},
                 {CL_INVALID_BINARY, "CL_INVALID_BINARY"},
                 {CL_INVALID_BUILD_OPTIONS, "CL_INVALID_BUILD_OPTIONS"},
                 {CL_INVALID_PROGRAM_EXECUTABLE, "CL_INVALID_PROGRAM_EXECUTABLE"},
                 {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
                 {CL_INVALID_ARG_INDEX, "CL_INVALID_ARG_INDEX"},
                 {CL_INVALID_ARG_VALUE, "CL_INVALID_ARG_VALUE"},
                 {CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE"},
                 {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
                 {CL_INVALID_WORK_DIMENSION, "CL_INVALID_WORK_DIMENSION"},
                 {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
                 {CL_INVALID_WORK_ITEM_SIZE, "CL_INVALID_WORK_ITEM_SIZE"},
                 {CL_INVALID_GLOBAL_OFFSET, "CL_INVALID_GLOBAL_OFFSET"},
                 {CL_INVALID_GLOBAL_WORK_SIZE, "CL_INVALID_GLOBAL_WORK_SIZE"},
                 {CL_INVALID_OPERATION, "CL_INVALID_OPERATION"},
                 {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
                 {CL_MISALIGNED_SUB_BUFFER_OFFSET, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
                 {CL_MEM_COPY_OVERLAP, "CL_MEM_COPY_OVERLAP"},
                 {-1001, "CL_PLATFORM_NOT_FOUND_KHR"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].code == code)
            return names[i].name;
    return "an OpenCL error";
}

static int has_command_buffers(cl_device_id device)
{
    cleanup_free char *text = calloc(1, MAX_EXTENSIONS + 1);
    if (!text || clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, MAX_EXTENSIONS, text, NULL))
        return 0;
    return strstr(text, "cl_khr_command_buffer") != NULL;
}

static int find_device(struct pick *p)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint n_platforms = 0;
    if (clGetPlatformIDs(MAX_PLATFORMS, platforms, &n_platforms))
        return -1;
    for (cl_uint i = 0; i < n_platforms && i < MAX_PLATFORMS; i++) {
        cl_device_id devices[MAX_DEVICES];
        cl_uint n_devices = 0;
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &n_devices))
            continue;
        for (cl_uint d = 0; d < n_devices && d < MAX_DEVICES; d++)
            if (has_command_buffers(devices[d])) {
                p->platform = platforms[i];
                p->device = devices[d];
                return 0;
            }
    }
    return -1;
}

int pick_open(struct pick *ret, kgrade_error *err)
{
    struct pick p = {0};
    cl_int code;
    if (find_device(&p))
        return fail(err, "device_failed", "Install PoCL: apt-get install pocl-opencl-icd.",
                    "There is no OpenCL device with cl_khr_command_buffer.");
    p.context = clCreateContext(NULL, 1, &p.device, NULL, NULL, &code);
    if (!p.context)
        return fail(err, "device_failed", NULL, "clCreateContext failed with %s (%d).",
                    pick_error_name(code), code);
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    p.queue = clCreateCommandQueueWithProperties(p.context, p.device, properties, &code);
    if (!p.queue) {
        clReleaseContext(p.context);
        return fail(err, "device_failed", NULL,
                    "clCreateCommandQueueWithProperties failed with %s (%d).",
                    pick_error_name(code), code);
    }
    *ret = p;
    return 0;
}

void pick_close(struct pick *pick)
{
    if (pick->queue)
        clReleaseCommandQueue(pick->queue);
    if (pick->context)
        clReleaseContext(pick->context);
    *pick = (struct pick){0};
}
