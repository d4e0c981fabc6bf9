/*
 * The OpenCL functions that candidates may not call.
 *
 * A candidate in C fails at load with the name of a function that is not offered.  PyOpenCL asks for all of them when it is
 * imported; without these it would get the real library's, whose work no recording sees.
 */
#include <stdio.h>

#include "capture.h"

#define EXPORT __attribute__((visibility("default")))

/* clang-format off */
#define OF_STATUS(X) \
    X(clEnqueueBarrier) X(clEnqueueCopyBufferRect) X(clEnqueueCopyBufferToImage) \
    X(clEnqueueCopyImage) X(clEnqueueCopyImageToBuffer) X(clEnqueueFillImage) X(clEnqueueMarker) \
    X(clEnqueueMigrateMemObjects) X(clEnqueueNativeKernel) X(clEnqueueReadBufferRect) \
    X(clEnqueueReadImage) X(clEnqueueSVMFree) X(clEnqueueSVMMap) X(clEnqueueSVMMemFill) \
    X(clEnqueueSVMMemcpy) X(clEnqueueSVMMigrateMem) X(clEnqueueSVMUnmap) X(clEnqueueTask) \
    X(clEnqueueWaitForEvents) X(clEnqueueWriteBufferRect) X(clEnqueueWriteImage) \
    X(clEnqueueAcquireGLObjects) X(clEnqueueReleaseGLObjects) X(clSetKernelArgSVMPointer) \
    X(clCompileProgram) X(clSetDefaultDeviceCommandQueue) X(clSetEventCallback)
#define OF_OBJECTS(X) \
    X(clCloneKernel) X(clCreateBufferWithProperties) X(clCreateCommandQueue) \
    X(clCreateContextFromType) X(clCreateImage) X(clCreateImage2D) X(clCreateImage3D) \
    X(clCreateImageWithProperties) X(clCreatePipe) X(clCreateProgramWithBinary) \
    X(clCreateProgramWithBuiltInKernels) X(clCreateProgramWithIL) X(clCreateSampler) \
    X(clCreateSamplerWithProperties) X(clCreateSubBuffer) X(clEnqueueMapImage) X(clLinkProgram) \
    X(clSVMAlloc) X(clCreateFromGLBuffer) X(clCreateFromGLRenderbuffer) \
    X(clCreateFromGLTexture2D) X(clCreateFromGLTexture3D)
/* clang-format on */

static void refuse(const char *name)
{
    fprintf(stderr, "kgrade does not offer %s to candidates.\n", name);
    capture_refuse("unsupported_call",
                   "Use buffers, programs from source, kernels, copies and fills of whole ranges.",
                   "The candidate called %s, which has no place in a recording.", name);
}

/* Their parameters do not matter: nothing is done with them. */
#define STATUS(name)                                                                               \
    EXPORT cl_int name##_(void) __asm__(#name);                                                    \
    EXPORT cl_int name##_(void)                                                                    \
    {                                                                                              \
        refuse(#name);                                                                             \
        return CL_INVALID_OPERATION;                                                               \
    }
OF_STATUS(STATUS)

#define OBJECT(name)                                                                               \
    EXPORT void *name##_(void) __asm__(#name);                                                     \
    EXPORT void *name##_(void)                                                                     \
    {                                                                                              \
        refuse(#name);                                                                             \
        return NULL;                                                                               \
    }
OF_OBJECTS(OBJECT)
