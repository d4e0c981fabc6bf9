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
    X(clEnqueueNativeKernel) X(clEnqueueReadBufferRect) X(clEnqueueReadImage) X(clEnqueueSVMFree) \
    X(clEnqueueSVMMap) X(clEnqueueSVMMemFill) X(clEnqueueSVMMemcpy) X(clEnqueueSVMMigrateMem) \
    X(clEnqueueSVMUnmap) X(clEnqueueTask) X(clEnqueueWaitForEvents) X(clEnqueueWriteBufferRect) \
    X(clEnqueueWriteImage) X(clEnqueueAcquireGLObjects) X(clEnqueueReleaseGLObjects) \
    X(clSetKernelArgSVMPointer) X(clCompileProgram) X(clSetDefaultDeviceCommandQueue) \
    X(clSetEventCallback)
/* With the number of parameters before the last one, which is where the error goes. */
#define OF_OBJECTS(X) \
    X(clCloneKernel, 1) X(clCreateBufferWithProperties, 5) X(clCreateCommandQueue, 3) \
    X(clCreateContextFromType, 4) X(clCreateImage, 5) X(clCreateImage2D, 7) X(clCreateImage3D, 9) \
    X(clCreateImageWithProperties, 6) X(clCreatePipe, 5) X(clCreateProgramWithBinary, 6) \
    X(clCreateProgramWithBuiltInKernels, 4) X(clCreateProgramWithIL, 3) X(clCreateSampler, 4) \
    X(clCreateSamplerWithProperties, 2) X(clCreateSubBuffer, 4) X(clEnqueueMapImage, 11) \
    X(clLinkProgram, 8) X(clCreateFromGLBuffer, 3) X(clCreateFromGLRenderbuffer, 3) \
    X(clCreateFromGLTexture2D, 5) X(clCreateFromGLTexture3D, 5)
/* clang-format on */

static void refuse(const char *name)
{
    fprintf(stderr, "kgrade does not offer %s to candidates.\n", name);
    pthread_mutex_lock(&capture_state.lock);
    capture_refuse("unsupported_call",
                   "Use buffers, programs from source, kernels, copies and fills of whole ranges.",
                   "The candidate called %s, which has no place in a recording.", name);
    pthread_mutex_unlock(&capture_state.lock);
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

/* All of them are numbers or pointers, and each takes a register, or a word on the stack, of its own. */
#define PARAMETER(n) size_t a##n __attribute__((unused))
#define BEFORE_1 PARAMETER(1)
#define BEFORE_2 BEFORE_1, PARAMETER(2)
#define BEFORE_3 BEFORE_2, PARAMETER(3)
#define BEFORE_4 BEFORE_3, PARAMETER(4)
#define BEFORE_5 BEFORE_4, PARAMETER(5)
#define BEFORE_6 BEFORE_5, PARAMETER(6)
#define BEFORE_7 BEFORE_6, PARAMETER(7)
#define BEFORE_8 BEFORE_7, PARAMETER(8)
#define BEFORE_9 BEFORE_8, PARAMETER(9)
#define BEFORE_11 BEFORE_9, PARAMETER(10), PARAMETER(11)

#define OBJECT(name, n)                                                                            \
    EXPORT void *name##_(BEFORE_##n, cl_int *ret) __asm__(#name);                                  \
    EXPORT void *name##_(BEFORE_##n, cl_int *ret)                                                  \
    {                                                                                              \
        refuse(#name);                                                                             \
        if (ret)                                                                                   \
            *ret = CL_INVALID_OPERATION;                                                           \
        return NULL;                                                                               \
    }
OF_OBJECTS(OBJECT)

/* The one that has no place for an error. */
EXPORT void *clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
    (void)context;
    (void)flags;
    (void)size;
    (void)alignment;
    refuse("clSVMAlloc");
    return NULL;
}
