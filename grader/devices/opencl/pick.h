/* Which OpenCL device is used, and how. */
#ifndef KGRADE_OPENCL_PICK_H
#define KGRADE_OPENCL_PICK_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_ENABLE_BETA_EXTENSIONS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include "../../../sandbox/base/error.h"

struct pick {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue; /* in order, with profiling */
};

/* The first device of the first platform whose device has cl_khr_command_buffer.  -1 with `device_failed`. */
int pick_open(struct pick *ret, kgrade_error *err);
void pick_close(struct pick *pick);

const char *pick_error_name(cl_int code); /* "CL_OUT_OF_RESOURCES", ... or "an OpenCL error" */

#endif
