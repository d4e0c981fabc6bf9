#define _GNU_SOURCE
#include "hooks.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "../../../sandbox/base/fail.h"
#include "../../profile/collector.h"

#define exported __attribute__((visibility("default")))
#define DRIVER_LIBRARY "libcuda.so.1"

/* The driver's own functions. */
static struct {
    CUresult (*mem_alloc)(CUdeviceptr *, size_t);
    CUresult (*mem_alloc_pitch)(CUdeviceptr *, size_t *, size_t, size_t, unsigned int);
    CUresult (*mem_free)(CUdeviceptr);
    CUresult (*mem_alloc_async)(CUdeviceptr *, size_t, CUstream);
    CUresult (*mem_free_async)(CUdeviceptr, CUstream);
    CUresult (*mem_alloc_from_pool)(CUdeviceptr *, size_t, CUmemoryPool, CUstream);
    CUresult (*mem_alloc_managed)(CUdeviceptr *, size_t, unsigned int);
    CUresult (*mem_create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                           unsigned long long);
    CUresult (*mem_get_info)(size_t *, size_t *);
    CUresult (*mem_get_address_range)(CUdeviceptr *, size_t *, CUdeviceptr);
    CUresult (*ctx_synchronize)(void);
    CUresult (*stream_synchronize)(CUstream);
    CUresult (*stream_synchronize_ptsz)(CUstream);
    CUresult (*event_synchronize)(CUevent);
    CUresult (*tex_object_create)(CUtexObject *, const CUDA_RESOURCE_DESC *,
                                  const CUDA_TEXTURE_DESC *, const CUDA_RESOURCE_VIEW_DESC *);
    CUresult (*surf_object_create)(CUsurfObject *, const CUDA_RESOURCE_DESC *);
    CUresult (*primary_ctx_reset)(CUdevice);
    CUresult (*get_proc_address)(const char *, void **, int, cuuint64_t,
                                 CUdriverProcAddressQueryResult *);
    CUresult (*get_proc_address_v1)(const char *, void **, int, cuuint64_t);
} real;

static struct workspace *served; /* what allocations come from */
static atomic_bool answering;    /* who looks for a driver function finds ours */
static atomic_bool started;      /* which serve from the workspace; before, they pass calls on */
static _Atomic(enum hooks_sync) sync_mode;
static pthread_mutex_t seen_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hooks_seen seen;
static void (*at_calls)(void);

static void note_unsupported(const char *function, const char *code, const char *hint)
{
    pthread_mutex_lock(&seen_lock);
    if (!seen.unsupported) {
        seen.unsupported = function;
        seen.unsupported_code = code;
        seen.unsupported_hint = hint;
    }
    pthread_mutex_unlock(&seen_lock);
    driver_trace("hook: %s is not supported", function);
}

/* --- memory --- */

static CUresult allocate(CUdeviceptr *ret, size_t bytes)
{
    if (!ret)
        return CUDA_ERROR_INVALID_VALUE;
    collector_push(LOG_DOMAIN_API, "cuMemAlloc");
    uint64_t address = workspace_allocate(served, bytes);
    collector_pop(LOG_DOMAIN_API);
    driver_trace("hook: allocate %zu bytes: %#llx", bytes, (unsigned long long)address);
    if (!address) {
        pthread_mutex_lock(&seen_lock);
        if (!seen.failed_allocation)
            seen.failed_allocation = bytes;
        pthread_mutex_unlock(&seen_lock);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *ret = address;
    return CUDA_SUCCESS;
}

/* false: it was not allocated here. */
static bool give_back(CUdeviceptr address)
{
    collector_push(LOG_DOMAIN_API, "cuMemFree");
    bool served_here = !address || workspace_free(served, address);
    collector_pop(LOG_DOMAIN_API);
    return served_here;
}

exported CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return started ? allocate(dptr, bytesize) : real.mem_alloc(dptr, bytesize);
}

exported CUresult cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
                                     size_t Height, unsigned int ElementSizeBytes)
{
    if (!started)
        return real.mem_alloc_pitch(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes);
    size_t pitch, bytes;
    if (!pPitch || WidthInBytes > SIZE_MAX - WORKSPACE_ALIGN)
        return CUDA_ERROR_INVALID_VALUE;
    pitch = (WidthInBytes + WORKSPACE_ALIGN - 1) / WORKSPACE_ALIGN * WORKSPACE_ALIGN;
    if (__builtin_mul_overflow(pitch, Height, &bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    *pPitch = pitch;
    return allocate(dptr, bytes);
}

exported CUresult cuMemFree_v2(CUdeviceptr dptr)
{
    if (started && give_back(dptr))
        return CUDA_SUCCESS;
    return real.mem_free(dptr);
}

exported CUresult cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    return started ? allocate(dptr, bytesize) : real.mem_alloc_async(dptr, bytesize, hStream);
}

exported CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    if (started && give_back(dptr))
        return CUDA_SUCCESS;
    return real.mem_free_async(dptr, hStream);
}

exported CUresult cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                          CUstream hStream)
{
    return started ? allocate(dptr, bytesize)
                   : real.mem_alloc_from_pool(dptr, bytesize, pool, hStream);
}

/* The variants that code compiled for the per-thread default stream calls. */
exported CUresult cuMemAllocAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUstream hStream);
exported CUresult cuMemAllocAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    return cuMemAllocAsync(dptr, bytesize, hStream ? hStream : CU_STREAM_PER_THREAD);
}

exported CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream);
exported CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream)
{
    return cuMemFreeAsync(dptr, hStream ? hStream : CU_STREAM_PER_THREAD);
}

exported CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *dptr, size_t bytesize,
                                               CUmemoryPool pool, CUstream hStream);
exported CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *dptr, size_t bytesize,
                                               CUmemoryPool pool, CUstream hStream)
{
    return cuMemAllocFromPoolAsync(dptr, bytesize, pool, hStream ? hStream : CU_STREAM_PER_THREAD);
}

exported CUresult cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    if (!started)
        return real.mem_alloc_managed(dptr, bytesize, flags);
    note_unsupported("cuMemAllocManaged", "managed_memory", "Use cudaMalloc for device memory.");
    return CUDA_ERROR_NOT_SUPPORTED;
}

exported CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                              const CUmemAllocationProp *prop, unsigned long long flags)
{
    if (!started)
        return real.mem_create(handle, size, prop, flags);
    note_unsupported("cuMemCreate", "unsupported_allocation",
                     "Use cudaMalloc or cudaMallocAsync for device memory.");
    return CUDA_ERROR_NOT_SUPPORTED;
}

exported CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
    uint64_t room, all;
    if (!started || !free || !total)
        return real.mem_get_info(free, total);
    workspace_room(served, &room, &all);
    *free = room;
    *total = all;
    return CUDA_SUCCESS;
}

exported CUresult cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    uint64_t address, bytes;
    if (!started || !workspace_find(served, dptr, &address, &bytes))
        return real.mem_get_address_range(pbase, psize, dptr);
    if (pbase)
        *pbase = address;
    if (psize)
        *psize = bytes;
    return CUDA_SUCCESS;
}

/* --- waiting --- */

/* true: the wait must not happen, and *ret is what to answer. */
static bool intercept_sync(const char *function, CUresult *ret)
{
    enum hooks_sync mode = sync_mode;
    if (!started || mode == HOOKS_SYNC_REAL)
        return false;
    pthread_mutex_lock(&seen_lock);
    if (mode == HOOKS_SYNC_ABSORB)
        seen.absorbed++;
    else if (!seen.refused_sync)
        seen.refused_sync = function;
    pthread_mutex_unlock(&seen_lock);
    driver_trace("hook: %s %s", function, mode == HOOKS_SYNC_ABSORB ? "absorbed" : "refused");
    *ret = mode == HOOKS_SYNC_ABSORB ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return true;
}

exported CUresult cuCtxSynchronize(void)
{
    CUresult answer;
    return intercept_sync("cuCtxSynchronize", &answer) ? answer : real.ctx_synchronize();
}

/* There is one context here, and it is current. */
exported CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
    (void)ctx;
    return cuCtxSynchronize();
}

exported CUresult cuStreamSynchronize(CUstream hStream)
{
    CUresult answer;
    return intercept_sync("cuStreamSynchronize", &answer) ? answer
                                                          : real.stream_synchronize(hStream);
}

exported CUresult cuStreamSynchronize_ptsz(CUstream hStream);
exported CUresult cuStreamSynchronize_ptsz(CUstream hStream)
{
    CUresult answer;
    return intercept_sync("cuStreamSynchronize", &answer) ? answer
                                                          : real.stream_synchronize_ptsz(hStream);
}

exported CUresult cuEventSynchronize(CUevent hEvent)
{
    CUresult answer;
    return intercept_sync("cuEventSynchronize", &answer) ? answer : real.event_synchronize(hEvent);
}

/* --- what has no place in a recording --- */

exported CUresult cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
                                    const CUDA_TEXTURE_DESC *pTexDesc,
                                    const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
    if (started)
        note_unsupported("cuTexObjectCreate", "texture_object",
                         "Read the buffers through pointers instead.");
    return real.tex_object_create(pTexObject, pResDesc, pTexDesc, pResViewDesc);
}

exported CUresult cuSurfObjectCreate(CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc)
{
    if (started)
        note_unsupported("cuSurfObjectCreate", "texture_object",
                         "Write the buffers through pointers instead.");
    return real.surf_object_create(pSurfObject, pResDesc);
}

exported CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    if (!started)
        return real.primary_ctx_reset(dev);
    note_unsupported("cuDevicePrimaryCtxReset", "context_reset", "Do not call cudaDeviceReset.");
    return CUDA_ERROR_NOT_PERMITTED;
}

/* --- being found --- */

struct replacement {
    const char *symbol; /* as the driver's library exports it */
    const char *name;   /* as cuGetProcAddress is asked for it */
    bool per_thread;    /* the variant for the per-thread default stream */
    void (*function)(void);
};

/* The header calls the second form by the first one's name. */
#undef cuGetProcAddress
exported CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion,
                                   cuuint64_t flags);
exported CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion,
                                      cuuint64_t flags,
                                      CUdriverProcAddressQueryResult *symbolStatus);

#define REPLACE(symbol, name, per_thread, function)                                                \
    {                                                                                              \
        symbol, name, per_thread, (void (*)(void))(function)                                       \
    }

static const struct replacement replacements[] = {
    REPLACE("cuMemAlloc_v2", "cuMemAlloc", false, cuMemAlloc_v2),
    REPLACE("cuMemAllocPitch_v2", "cuMemAllocPitch", false, cuMemAllocPitch_v2),
    REPLACE("cuMemFree_v2", "cuMemFree", false, cuMemFree_v2),
    REPLACE("cuMemAllocAsync", "cuMemAllocAsync", false, cuMemAllocAsync),
    REPLACE("cuMemAllocAsync_ptsz", "cuMemAllocAsync", true, cuMemAllocAsync_ptsz),
    REPLACE("cuMemFreeAsync", "cuMemFreeAsync", false, cuMemFreeAsync),
    REPLACE("cuMemFreeAsync_ptsz", "cuMemFreeAsync", true, cuMemFreeAsync_ptsz),
    REPLACE("cuMemAllocFromPoolAsync", "cuMemAllocFromPoolAsync", false, cuMemAllocFromPoolAsync),
    REPLACE("cuMemAllocFromPoolAsync_ptsz", "cuMemAllocFromPoolAsync", true,
            cuMemAllocFromPoolAsync_ptsz),
    REPLACE("cuMemAllocManaged", "cuMemAllocManaged", false, cuMemAllocManaged),
    REPLACE("cuMemCreate", "cuMemCreate", false, cuMemCreate),
    REPLACE("cuMemGetInfo_v2", "cuMemGetInfo", false, cuMemGetInfo_v2),
    REPLACE("cuMemGetAddressRange_v2", "cuMemGetAddressRange", false, cuMemGetAddressRange_v2),
    REPLACE("cuCtxSynchronize", "cuCtxSynchronize", false, cuCtxSynchronize),
    REPLACE("cuCtxSynchronize_v2", "cuCtxSynchronize", false, cuCtxSynchronize_v2),
    REPLACE("cuStreamSynchronize", "cuStreamSynchronize", false, cuStreamSynchronize),
    REPLACE("cuStreamSynchronize_ptsz", "cuStreamSynchronize", true, cuStreamSynchronize_ptsz),
    REPLACE("cuEventSynchronize", "cuEventSynchronize", false, cuEventSynchronize),
    REPLACE("cuTexObjectCreate", "cuTexObjectCreate", false, cuTexObjectCreate),
    REPLACE("cuSurfObjectCreate", "cuSurfObjectCreate", false, cuSurfObjectCreate),
    REPLACE("cuDevicePrimaryCtxReset_v2", "cuDevicePrimaryCtxReset", false,
            cuDevicePrimaryCtxReset_v2),
    REPLACE("cuGetProcAddress", NULL, false, cuGetProcAddress),
    REPLACE("cuGetProcAddress_v2", NULL, false, cuGetProcAddress_v2),
};

#define N_REPLACEMENTS (sizeof replacements / sizeof replacements[0])

static void *pointer_of(void (*function)(void))
{
    void *pointer;
    memcpy(&pointer, &function, sizeof pointer);
    return pointer;
}

/* NULL: the driver's own is right. */
static void *replacement_for_symbol(const char *symbol)
{
    for (size_t i = 0; i < N_REPLACEMENTS; i++)
        if (!strcmp(replacements[i].symbol, symbol))
            return pointer_of(replacements[i].function);
    return NULL;
}

/* cuGetProcAddress has names without suffixes, and versions: cuGetProcAddress itself takes one argument more from
 * CUDA 12 on.  Functions that changed before CUDA 11 are never asked for in an older form. */
static void *replacement_for_name(const char *name, int version, cuuint64_t flags)
{
    bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (!strcmp(name, "cuGetProcAddress"))
        return replacement_for_symbol(version < 12000 ? "cuGetProcAddress" : "cuGetProcAddress_v2");
    void *found = NULL;
    for (size_t i = 0; i < N_REPLACEMENTS; i++)
        if (replacements[i].name && !strcmp(replacements[i].name, name) &&
            (!found || replacements[i].per_thread == per_thread))
            found = pointer_of(replacements[i].function);
    return found ? found : replacement_for_symbol(name);
}

exported CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion,
                                      cuuint64_t flags,
                                      CUdriverProcAddressQueryResult *symbolStatus)
{
    CUresult result = real.get_proc_address(symbol, pfn, cudaVersion, flags, symbolStatus);
    if (result == CUDA_SUCCESS && answering && symbol && pfn && *pfn) {
        void *ours = replacement_for_name(symbol, cudaVersion, flags);
        if (ours)
            *pfn = ours;
    }
    return result;
}

exported CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion,
                                   cuuint64_t flags)
{
    CUresult result = real.get_proc_address_v1(symbol, pfn, cudaVersion, flags);
    if (result == CUDA_SUCCESS && answering && symbol && pfn && *pfn) {
        void *ours = replacement_for_name(symbol, cudaVersion, flags);
        if (ours)
            *pfn = ours;
    }
    return result;
}

typedef void *dlsym_function(void *handle, const char *name);

static dlsym_function *find_dlsym(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    void *symbol = NULL;
    for (size_t i = 0; i < sizeof versions / sizeof versions[0] && !symbol; i++)
        symbol = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    dlsym_function *function;
    memcpy(&function, &symbol, sizeof function);
    return function;
}

/* The C library's. */
static dlsym_function *c_dlsym(void)
{
    static _Atomic(dlsym_function *) function;
    dlsym_function *f = function;
    if (!f) {
        f = find_dlsym();
        function = f;
    }
    return f;
}

static void *own_dlsym(void *handle, const char *name)
{
    dlsym_function *function = c_dlsym();
    return function ? function(handle, name) : NULL;
}

/* Sanitizers find what they replace through dlsym(RTLD_NEXT), which means something else when it is called from here.  In
 * their builds the CUDA runtime's allocations are therefore not served from the arena. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
exported void *dlsym(void *restrict handle, const char *restrict name)
{
    dlsym_function *next = c_dlsym();
    bool is_ours = next && answering && !strncmp(name, "cu", 2);
    void *ours = is_ours ? replacement_for_symbol(name) : NULL;
    /* Compiled to a jump, so that the C library sees the caller, by which RTLD_NEXT and RTLD_DEFAULT are told. */
    if (!ours)
        return next ? next(handle, name) : NULL;
    return next(handle, name) ? ours : NULL;
}
#endif

/* --- starting and stopping --- */

static char missing[256]; /* what is wrong with the driver's library; "" when nothing is */

/* Before anything else runs: a library may call a driver function, and so one of ours, as soon as it is loaded. */
__attribute__((constructor)) static void find_functions(void)
{
    const struct {
        void *function;
        const char *name;
    } needed[] = {
        {&real.mem_alloc, "cuMemAlloc_v2"},
        {&real.mem_alloc_pitch, "cuMemAllocPitch_v2"},
        {&real.mem_free, "cuMemFree_v2"},
        {&real.mem_alloc_async, "cuMemAllocAsync"},
        {&real.mem_free_async, "cuMemFreeAsync"},
        {&real.mem_alloc_from_pool, "cuMemAllocFromPoolAsync"},
        {&real.mem_alloc_managed, "cuMemAllocManaged"},
        {&real.mem_create, "cuMemCreate"},
        {&real.mem_get_info, "cuMemGetInfo_v2"},
        {&real.mem_get_address_range, "cuMemGetAddressRange_v2"},
        {&real.ctx_synchronize, "cuCtxSynchronize"},
        {&real.stream_synchronize, "cuStreamSynchronize"},
        {&real.stream_synchronize_ptsz, "cuStreamSynchronize_ptsz"},
        {&real.event_synchronize, "cuEventSynchronize"},
        {&real.tex_object_create, "cuTexObjectCreate"},
        {&real.surf_object_create, "cuSurfObjectCreate"},
        {&real.primary_ctx_reset, "cuDevicePrimaryCtxReset_v2"},
        {&real.get_proc_address, "cuGetProcAddress_v2"},
        {&real.get_proc_address_v1, "cuGetProcAddress"},
    };
    void *driver = dlopen(DRIVER_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!driver) {
        snprintf(missing, sizeof missing, "The driver's library cannot be loaded: %.200s.",
                 dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        void *symbol = own_dlsym(driver, needed[i].name);
        memcpy(needed[i].function, &symbol, sizeof symbol);
        if (!symbol)
            snprintf(missing, sizeof missing, "The driver has no function %s.", needed[i].name);
    }
}

int hooks_open(struct workspace *workspace, kgrade_error *err)
{
    if (missing[0])
        return fail(err, "device_failed", "Install a driver that fits the CUDA Toolkit.", "%s",
                    missing);
    served = workspace;
    return 0;
}

void hooks_answer(void)
{
    answering = true;
}

void hooks_start(void)
{
    started = true;
}

void hooks_at_calls(void (*function)(void))
{
    at_calls = function;
}

void hooks_begin_call(enum hooks_sync sync)
{
    if (at_calls)
        at_calls();
    pthread_mutex_lock(&seen_lock);
    /* What has no place in a recording stays that way, whichever call asked for it. */
    seen.absorbed = 0;
    seen.refused_sync = NULL;
    seen.failed_allocation = 0;
    pthread_mutex_unlock(&seen_lock);
    sync_mode = sync;
}

void hooks_end_call(struct hooks_seen *ret)
{
    sync_mode = HOOKS_SYNC_REAL;
    pthread_mutex_lock(&seen_lock);
    *ret = seen;
    pthread_mutex_unlock(&seen_lock);
    if (at_calls)
        at_calls();
}

CUresult hooks_synchronize(void)
{
    return real.ctx_synchronize();
}
