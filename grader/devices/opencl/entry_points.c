/*
 * The OpenCL functions that candidates may call.
 *
 * This program exports them, and candidates are linked against no OpenCL library, so these are what a candidate gets; a function
 * that is not here fails at load with its name.  Each either passes on to the real library or, inside a
 * capture, writes down what it would have done.  Not offered: images, samplers, pipes, SVM, sub-buffers, programs from
 * binaries, native kernels, command buffers.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "../../profile/collector.h"
#include "capture.h"

#define BUILD_LOG_BYTES 16384

#define EXPORT __attribute__((visibility("default")))

/* clang-format off */
#define REAL_FUNCTIONS(X) \
    X(clGetPlatformIDs) X(clGetPlatformInfo) X(clGetDeviceIDs) X(clGetDeviceInfo) \
    X(clCreateContext) X(clRetainContext) X(clReleaseContext) X(clGetContextInfo) \
    X(clCreateCommandQueueWithProperties) X(clRetainCommandQueue) X(clReleaseCommandQueue) X(clGetCommandQueueInfo) \
    X(clCreateProgramWithSource) X(clBuildProgram) X(clRetainProgram) X(clReleaseProgram) \
    X(clGetProgramInfo) X(clGetProgramBuildInfo) \
    X(clCreateKernel) X(clCreateKernelsInProgram) X(clRetainKernel) X(clReleaseKernel) X(clSetKernelArg) \
    X(clGetKernelInfo) X(clGetKernelArgInfo) X(clGetKernelWorkGroupInfo) \
    X(clCreateBuffer) X(clRetainMemObject) X(clReleaseMemObject) X(clGetMemObjectInfo) \
    X(clEnqueueNDRangeKernel) X(clEnqueueCopyBuffer) X(clEnqueueFillBuffer) \
    X(clEnqueueReadBuffer) X(clEnqueueWriteBuffer) X(clEnqueueMapBuffer) X(clEnqueueUnmapMemObject) \
    X(clEnqueueMarkerWithWaitList) X(clEnqueueBarrierWithWaitList) X(clEnqueueMigrateMemObjects) \
    X(clFlush) X(clFinish) X(clWaitForEvents) X(clRetainEvent) X(clReleaseEvent) X(clGetEventInfo) \
    X(clGetEventProfilingInfo) X(clCreateUserEvent) X(clSetUserEventStatus)
/* clang-format on */

#define MEMBER(name) __typeof__(name) *name;
static struct {
    REAL_FUNCTIONS(MEMBER)
} real;

int entry_points_open(kgrade_error *err)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fail(err, "device_failed",
                    "Install an OpenCL loader: apt-get install ocl-icd-libopencl1.",
                    "The OpenCL library could not be loaded: %s", dlerror());
#define RESOLVE(name)                                                                              \
    {                                                                                              \
        void *symbol = dlsym(library, #name);                                                      \
        if (!symbol)                                                                               \
            return fail(err, "device_failed", "Install a loader for OpenCL 2.0 or later.",         \
                        "The OpenCL library lacks %s.", #name);                                    \
        memcpy(&real.name, &symbol, sizeof symbol);                                                \
    }
    REAL_FUNCTIONS(RESOLVE)
    return 0;
}

static void lock(void)
{
    pthread_mutex_lock(&capture_state.lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&capture_state.lock);
}

/* --- noted for `kgrade profile` --- */

#ifdef KGRADE_WITHOUT_NOTES
#define NOTE(function) (void)0
#else
struct noted {
    bool began;
};

static inline struct noted note_begin(atomic_uint *name, const char *function)
{
    if (!collector_is_active())
        return (struct noted){false};
    if (!*name)
        *name = 1 + collector_name(function);
    collector_push_name(LOG_DOMAIN_API, *name - 1);
    return (struct noted){true};
}

static inline void note_end(struct noted *noted)
{
    if (noted->began)
        collector_pop(LOG_DOMAIN_API);
}

/* First in a function: notes the call from here to its return, where a profile is being made. */
#define NOTE(function)                                                                             \
    static atomic_uint note_name;                                                                  \
    __attribute__((cleanup(note_end))) struct noted noted = note_begin(&note_name, #function);     \
    (void)noted
#endif

/* --- passed on unchanged --- */

#define PASS(type, name, parameters, arguments)                                                    \
    EXPORT type CL_API_CALL name parameters                                                        \
    {                                                                                              \
        NOTE(name);                                                                                \
        return real.name arguments;                                                                \
    }

PASS(cl_int, clGetPlatformIDs, (cl_uint n, cl_platform_id *p, cl_uint *count), (n, p, count))
PASS(cl_int, clGetPlatformInfo,
     (cl_platform_id p, cl_platform_info w, size_t n, void *v, size_t *r), (p, w, n, v, r))
PASS(cl_int, clGetDeviceIDs,
     (cl_platform_id p, cl_device_type t, cl_uint n, cl_device_id *d, cl_uint *count),
     (p, t, n, d, count))
PASS(cl_int, clGetDeviceInfo, (cl_device_id d, cl_device_info w, size_t n, void *v, size_t *r),
     (d, w, n, v, r))
PASS(cl_context, clCreateContext,
     (const cl_context_properties *p, cl_uint n, const cl_device_id *d,
      void(CL_CALLBACK *f)(const char *, const void *, size_t, void *), void *u, cl_int *r),
     (p, n, d, f, u, r))
PASS(cl_int, clRetainContext, (cl_context c), (c))
PASS(cl_int, clReleaseContext, (cl_context c), (c))
PASS(cl_int, clGetContextInfo, (cl_context c, cl_context_info w, size_t n, void *v, size_t *r),
     (c, w, n, v, r))
PASS(cl_command_queue, clCreateCommandQueueWithProperties,
     (cl_context c, cl_device_id d, const cl_queue_properties *p, cl_int *r), (c, d, p, r))
PASS(cl_int, clRetainCommandQueue, (cl_command_queue q), (q))
PASS(cl_int, clReleaseCommandQueue, (cl_command_queue q), (q))
PASS(cl_int, clGetCommandQueueInfo,
     (cl_command_queue q, cl_command_queue_info w, size_t n, void *v, size_t *r), (q, w, n, v, r))
PASS(cl_int, clGetProgramInfo, (cl_program p, cl_program_info w, size_t n, void *v, size_t *r),
     (p, w, n, v, r))
PASS(cl_int, clGetProgramBuildInfo,
     (cl_program p, cl_device_id d, cl_program_build_info w, size_t n, void *v, size_t *r),
     (p, d, w, n, v, r))
PASS(cl_int, clGetKernelInfo, (cl_kernel k, cl_kernel_info w, size_t n, void *v, size_t *r),
     (k, w, n, v, r))
PASS(cl_int, clGetKernelArgInfo,
     (cl_kernel k, cl_uint i, cl_kernel_arg_info w, size_t n, void *v, size_t *r),
     (k, i, w, n, v, r))
PASS(cl_int, clGetKernelWorkGroupInfo,
     (cl_kernel k, cl_device_id d, cl_kernel_work_group_info w, size_t n, void *v, size_t *r),
     (k, d, w, n, v, r))
PASS(cl_int, clGetMemObjectInfo, (cl_mem m, cl_mem_info w, size_t n, void *v, size_t *r),
     (m, w, n, v, r))
PASS(cl_int, clRetainEvent, (cl_event e), (e))
PASS(cl_int, clReleaseEvent, (cl_event e), (e))
PASS(cl_int, clGetEventInfo, (cl_event e, cl_event_info w, size_t n, void *v, size_t *r),
     (e, w, n, v, r))
PASS(cl_int, clGetEventProfilingInfo,
     (cl_event e, cl_profiling_info w, size_t n, void *v, size_t *r), (e, w, n, v, r))
PASS(cl_event, clCreateUserEvent, (cl_context c, cl_int *r), (c, r))
PASS(cl_int, clSetUserEventStatus, (cl_event e, cl_int s), (e, s))

/* --- objects: passed on and noted --- */

EXPORT cl_program CL_API_CALL clCreateProgramWithSource(cl_context context, cl_uint n,
                                                        const char **strings, const size_t *lengths,
                                                        cl_int *ret)
{
    NOTE(clCreateProgramWithSource);
    cl_program program = real.clCreateProgramWithSource(context, n, strings, lengths, ret);
    if (!program)
        return NULL;
    size_t total = 0;
    for (cl_uint i = 0; i < n; i++)
        total += lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
    cleanup_free char *source = total <= CAPTURE_MAX_SOURCE_BYTES ? malloc(total + 1) : NULL;
    if (!source)
        return program; /* its kernels will be refused for want of a source */
    size_t at = 0;
    for (cl_uint i = 0; i < n; i++) {
        size_t length = lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
        memcpy(source + at, strings[i], length);
        at += length;
    }
    source[total] = 0;
    lock();
    capture_add_program(program, source);
    unlock();
    return program;
}

/* Not every author looks at the build log; in the candidate's output it reaches them with the verdict. */
static void print_build_log(cl_program program)
{
    char log[BUILD_LOG_BYTES] = "";
    if (real.clGetProgramBuildInfo(program, capture_state.pick.device, CL_PROGRAM_BUILD_LOG,
                                   sizeof log - 1, log, NULL) == CL_SUCCESS)
        fprintf(stderr, "clBuildProgram failed:\n%s\n", log);
}

EXPORT cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices,
                                         const char *options,
                                         void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
    NOTE(clBuildProgram);
    lock();
    struct tracked_program *p = capture_find_program(program);
    char *copy = p && options ? strdup(options) : NULL;
    if (copy) {
        free(p->options);
        p->options = copy;
    }
    unlock();
    cl_int code = real.clBuildProgram(program, n, devices, options, notify, data);
    if (code == CL_BUILD_PROGRAM_FAILURE)
        print_build_log(program);
    return code;
}

/* Noted before the real release, after which another thread may be given the same handle. */
#define RETAIN_AND_RELEASE(type, retain, release, note_retain, note_release)                       \
    EXPORT cl_int CL_API_CALL retain(type handle)                                                  \
    {                                                                                              \
        NOTE(retain);                                                                              \
        cl_int code = real.retain(handle);                                                         \
        lock();                                                                                    \
        if (code == CL_SUCCESS)                                                                    \
            note_retain(handle);                                                                   \
        unlock();                                                                                  \
        return code;                                                                               \
    }                                                                                              \
    EXPORT cl_int CL_API_CALL release(type handle)                                                 \
    {                                                                                              \
        NOTE(release);                                                                             \
        lock();                                                                                    \
        note_release(handle);                                                                      \
        unlock();                                                                                  \
        return real.release(handle);                                                               \
    }

RETAIN_AND_RELEASE(cl_program, clRetainProgram, clReleaseProgram, capture_retain_program,
                   capture_release_program)
RETAIN_AND_RELEASE(cl_kernel, clRetainKernel, clReleaseKernel, capture_retain_kernel,
                   capture_release_kernel)
RETAIN_AND_RELEASE(cl_mem, clRetainMemObject, clReleaseMemObject, capture_retain_buffer,
                   capture_release_buffer)

EXPORT cl_kernel CL_API_CALL clCreateKernel(cl_program program, const char *name, cl_int *ret)
{
    NOTE(clCreateKernel);
    cl_kernel kernel = real.clCreateKernel(program, name, ret);
    lock();
    if (kernel)
        capture_add_kernel(kernel, program, name);
    unlock();
    return kernel;
}

EXPORT cl_int CL_API_CALL clCreateKernelsInProgram(cl_program program, cl_uint n,
                                                   cl_kernel *kernels, cl_uint *ret)
{
    NOTE(clCreateKernelsInProgram);
    cl_uint made = 0;
    cl_int code = real.clCreateKernelsInProgram(program, n, kernels, &made);
    lock();
    for (cl_uint i = 0; code == CL_SUCCESS && kernels && i < made; i++) {
        char name[RECORDING_MAX_NAME];
        if (real.clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL) ==
            CL_SUCCESS)
            capture_add_kernel(kernels[i], program, name);
    }
    unlock();
    if (ret)
        *ret = made;
    return code;
}

EXPORT cl_int CL_API_CALL clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size,
                                         const void *value)
{
    NOTE(clSetKernelArg);
    if (!kernel) /* what a failed build leaves behind; not every runtime checks */
        return CL_INVALID_KERNEL;
    cl_int code = real.clSetKernelArg(kernel, index, size, value);
    if (code == CL_SUCCESS) {
        lock();
        capture_set_arg(kernel, index, size, value);
        unlock();
    }
    return code;
}

EXPORT cl_mem CL_API_CALL clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size,
                                         void *host, cl_int *ret)
{
    NOTE(clCreateBuffer);
    lock();
    bool fits = !capture_state.queue ||
                size <= capture_state.workspace_limit - capture_state.workspace_bytes;
    unlock();
    if (!fits) {
        if (ret)
            *ret = CL_MEM_OBJECT_ALLOCATION_FAILURE;
        return NULL;
    }
    cl_mem buffer = real.clCreateBuffer(context, flags, size, host, ret);
    lock();
    if (buffer && capture_state.queue)
        capture_add_buffer(buffer, size, SIZE_MAX);
    unlock();
    return buffer;
}

/* --- work: enqueued, or written down inside a capture --- */

/* Inside a capture, and the queue is the one that is captured; a refusal is noted when it is another. */
static bool captured(cl_command_queue queue, const char *function)
{
    if (!capture_state.capturing)
        return false;
    if (queue != capture_state.queue)
        capture_refuse("foreign_queue",
                       "Enqueue everything on the queue that the entry point is given.",
                       "%s was called on a queue of the candidate's own.", function);
    else if (!pthread_equal(pthread_self(), capture_state.caller))
        capture_refuse("foreign_thread",
                       "Enqueue everything from the thread that called the entry point.",
                       "%s was called from a thread of the candidate's own.", function);
    return true;
}

/* An event for work that was only written down: complete, since in an in-order queue nothing need wait for it. */
static void give_event(cl_event *event)
{
    if (!event)
        return;
    *event = real.clCreateUserEvent(capture_state.pick.context, NULL);
    if (*event)
        real.clSetUserEventStatus(*event, CL_COMPLETE);
}

/* Runs `record` under the lock when capturing on the right queue, else `enqueue`. */
#define WORK(name, queue, event, record, enqueue)                                                  \
    NOTE(name);                                                                                    \
    lock();                                                                                        \
    if (!captured(queue, #name)) {                                                                 \
        unlock();                                                                                  \
        return enqueue;                                                                            \
    }                                                                                              \
    cl_int code = capture_state.refusal.code[0] ? CL_INVALID_OPERATION : (record);                 \
    unlock();                                                                                      \
    if (code == CL_SUCCESS)                                                                        \
        give_event(event);                                                                         \
    return code;

EXPORT cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                                                 cl_uint work_dim, const size_t *offset,
                                                 const size_t *global, const size_t *local,
                                                 cl_uint n, const cl_event *list, cl_event *event)
{
    if (!kernel)
        return CL_INVALID_KERNEL;
    WORK(
        clEnqueueNDRangeKernel, queue, event,
        capture_kernel_node(kernel, work_dim, offset, global, local),
        real.clEnqueueNDRangeKernel(queue, kernel, work_dim, offset, global, local, n, list, event))
}

EXPORT cl_int CL_API_CALL clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
                                              size_t from_offset, size_t to_offset, size_t bytes,
                                              cl_uint n, const cl_event *list, cl_event *event){
    WORK(clEnqueueCopyBuffer, queue, event,
         capture_copy_node(from, to, from_offset, to_offset, bytes),
         real.clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, bytes, n, list, event))}

EXPORT cl_int CL_API_CALL clEnqueueFillBuffer(cl_command_queue queue, cl_mem to,
                                              const void *pattern, size_t pattern_bytes,
                                              size_t offset, size_t bytes, cl_uint n,
                                              const cl_event *list, cl_event *event){WORK(
    clEnqueueFillBuffer, queue, event, capture_fill_node(to, pattern, pattern_bytes, offset, bytes),
    real.clEnqueueFillBuffer(queue, to, pattern, pattern_bytes, offset, bytes, n, list, event))}

/* In an in-order queue a marker or a barrier adds nothing. */
EXPORT cl_int CL_API_CALL clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint n,
                                                      const cl_event *list, cl_event *event){
    WORK(clEnqueueMarkerWithWaitList, queue, event, CL_SUCCESS,
         real.clEnqueueMarkerWithWaitList(queue, n, list, event))}

EXPORT cl_int CL_API_CALL clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint n,
                                                       const cl_event *list, cl_event *event){
    WORK(clEnqueueBarrierWithWaitList, queue, event, CL_SUCCESS,
         real.clEnqueueBarrierWithWaitList(queue, n, list, event))}

/* Nor does a migration where there is one device.  PyOpenCL's allocators ask for it. */
EXPORT cl_int CL_API_CALL
    clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint n_buffers, const cl_mem *buffers,
                               cl_mem_migration_flags flags, cl_uint n, const cl_event *list,
                               cl_event *event)
{
    WORK(clEnqueueMigrateMemObjects, queue, event, CL_SUCCESS,
         real.clEnqueueMigrateMemObjects(queue, n_buffers, buffers, flags, n, list, event))
}

/* --- what a captured call must not do --- */

static bool refused(const char *code, const char *hint, const char *function)
{
    lock();
    bool in_capture = capture_state.capturing;
    if (in_capture)
        capture_refuse(code, hint, "The call uses %s.", function);
    unlock();
    return in_capture;
}

#define BLOCKING_HINT "Enqueue and return: the grader waits for the queue itself."
#define HOST_HINT "Keep data on the device: host memory does not exist where the call is replayed."

EXPORT cl_int CL_API_CALL clFlush(cl_command_queue queue)
{
    NOTE(clFlush);
    lock();
    bool written = captured(queue, "clFlush");
    unlock();
    return written ? CL_SUCCESS : real.clFlush(queue);
}

EXPORT cl_int CL_API_CALL clFinish(cl_command_queue queue)
{
    NOTE(clFinish);
    return refused("blocking_call", BLOCKING_HINT, "clFinish") ? CL_INVALID_OPERATION
                                                               : real.clFinish(queue);
}

EXPORT cl_int CL_API_CALL clWaitForEvents(cl_uint n, const cl_event *events)
{
    NOTE(clWaitForEvents);
    return refused("blocking_call", BLOCKING_HINT, "clWaitForEvents")
               ? CL_INVALID_OPERATION
               : real.clWaitForEvents(n, events);
}

EXPORT cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer,
                                              cl_bool blocking, size_t offset, size_t bytes,
                                              void *to, cl_uint n, const cl_event *list,
                                              cl_event *event)
{
    NOTE(clEnqueueReadBuffer);
    bool stop = blocking ? refused("blocking_call", BLOCKING_HINT, "a blocking clEnqueueReadBuffer")
                         : refused("host_memory", HOST_HINT, "clEnqueueReadBuffer");
    return stop ? CL_INVALID_OPERATION
                : real.clEnqueueReadBuffer(queue, buffer, blocking, offset, bytes, to, n, list,
                                           event);
}

EXPORT cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer,
                                               cl_bool blocking, size_t offset, size_t bytes,
                                               const void *from, cl_uint n, const cl_event *list,
                                               cl_event *event)
{
    NOTE(clEnqueueWriteBuffer);
    bool stop = blocking
                    ? refused("blocking_call", BLOCKING_HINT, "a blocking clEnqueueWriteBuffer")
                    : refused("host_memory", HOST_HINT, "clEnqueueWriteBuffer");
    return stop ? CL_INVALID_OPERATION
                : real.clEnqueueWriteBuffer(queue, buffer, blocking, offset, bytes, from, n, list,
                                            event);
}

EXPORT void *CL_API_CALL clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                            cl_map_flags flags, size_t offset, size_t bytes,
                                            cl_uint n, const cl_event *list, cl_event *event,
                                            cl_int *ret)
{
    NOTE(clEnqueueMapBuffer);
    if (refused("host_memory", HOST_HINT, "clEnqueueMapBuffer")) {
        if (ret)
            *ret = CL_INVALID_OPERATION;
        return NULL;
    }
    return real.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, bytes, n, list, event,
                                   ret);
}

EXPORT cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem buffer,
                                                  void *pointer, cl_uint n, const cl_event *list,
                                                  cl_event *event)
{
    NOTE(clEnqueueUnmapMemObject);
    if (refused("host_memory", HOST_HINT, "clEnqueueUnmapMemObject"))
        return CL_INVALID_OPERATION;
    return real.clEnqueueUnmapMemObject(queue, buffer, pointer, n, list, event);
}
