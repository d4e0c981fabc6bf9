#define _GNU_SOURCE
#include "watch.h"

#include <cupti.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../sandbox/base/cleanup.h"
#include "../../../sandbox/base/fail.h"
#include "../../profile/collector.h"

/* How a module became known: by the handle that the driver call in which it was loaded takes or returns. */
enum owner_kind {
    OWNER_UNKNOWN,
    OWNER_PENDING, /* the call has not returned yet */
    OWNER_MODULE,
    OWNER_LIBRARY,
    OWNER_KERNEL,
    OWNER_GONE, /* unloaded, or our own */
};

struct module {
    struct watch_image image;
    bool is_cubin;
    enum owner_kind kind;
    void *owner;
    pthread_t loader;
};

static struct {
    pthread_mutex_t lock;
    CUpti_SubscriberHandle subscriber;
    struct module *modules;
    size_t n_modules, room;
    uint64_t bytes;
    bool counting;
    struct watch_seen seen;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The driver call that this thread is in. */
static _Thread_local struct {
    uint32_t id; /* 0: none */
    const void *params;
} current;

/* What a module that is loaded in the current call belongs to. */
static enum owner_kind owner_of_current(void **ret)
{
    *ret = NULL;
    switch (current.id) {
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoad:
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData:
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx:
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary:
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData:
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadFromFile:
        return OWNER_PENDING;
    case CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction:
        *ret = ((const cuModuleGetFunction_params *)current.params)->hmod;
        return OWNER_MODULE;
    case CUPTI_DRIVER_TRACE_CBID_cuModuleGetGlobal_v2:
        *ret = ((const cuModuleGetGlobal_v2_params *)current.params)->hmod;
        return OWNER_MODULE;
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryGetModule:
        *ret = ((const cuLibraryGetModule_params *)current.params)->library;
        return OWNER_LIBRARY;
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryGetKernel:
        *ret = ((const cuLibraryGetKernel_params *)current.params)->library;
        return OWNER_LIBRARY;
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryGetGlobal:
        *ret = ((const cuLibraryGetGlobal_params *)current.params)->library;
        return OWNER_LIBRARY;
    case CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction:
        *ret = ((const cuKernelGetFunction_params *)current.params)->kernel;
        return OWNER_KERNEL;
    case CUPTI_DRIVER_TRACE_CBID_cuKernelGetAttribute:
        *ret = ((const cuKernelGetAttribute_params *)current.params)->kernel;
        return OWNER_KERNEL;
    case CUPTI_DRIVER_TRACE_CBID_cuKernelSetAttribute:
        *ret = ((const cuKernelSetAttribute_params *)current.params)->kernel;
        return OWNER_KERNEL;
    case CUPTI_DRIVER_TRACE_CBID_cuKernelGetParamInfo:
        *ret = ((const cuKernelGetParamInfo_params *)current.params)->kernel;
        return OWNER_KERNEL;
    /* A CUfunction's module is loaded already, so what loads one here is a CUkernel in its place. */
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
        *ret = ((const cuLaunchKernel_params *)current.params)->f;
        return OWNER_KERNEL;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
        *ret = ((const cuLaunchKernelEx_params *)current.params)->f;
        return OWNER_KERNEL;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
        *ret = ((const cuLaunchCooperativeKernel_params *)current.params)->f;
        return OWNER_KERNEL;
    case CUPTI_DRIVER_TRACE_CBID_cuOccupancyMaxActiveBlocksPerMultiprocessor:
        *ret = ((const cuOccupancyMaxActiveBlocksPerMultiprocessor_params *)current.params)->func;
        return OWNER_KERNEL;
    case CUPTI_DRIVER_TRACE_CBID_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags:
        *ret = ((const cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_params *)current.params)
                   ->func;
        return OWNER_KERNEL;
    default:
        return OWNER_UNKNOWN;
    }
}

static void on_module(const CUpti_ModuleResourceData *loaded)
{
    void *copy = malloc(loaded->cubinSize ? loaded->cubinSize : 1);
    if (!copy)
        return;
    memcpy(copy, loaded->pCubin, loaded->cubinSize);
    struct module m = {.image = {.data = copy, .size = loaded->cubinSize},
                       .loader = pthread_self()};
    m.kind = owner_of_current(&m.owner);
    m.is_cubin = cubin_parse(copy, loaded->cubinSize, &m.image.cubin);
    driver_trace("module %u of %zu bytes loaded in call %u%s", loaded->moduleId, loaded->cubinSize,
                 current.id, m.is_cubin ? "" : ", not a cubin");
    pthread_mutex_lock(&watch.lock);
    bool fits =
        watch.n_modules < WATCH_MAX_MODULES && m.image.size <= WATCH_MAX_BYTES - watch.bytes;
    if (fits && watch.n_modules == watch.room) {
        size_t room = watch.room ? 2 * watch.room : 64;
        struct module *modules = realloc(watch.modules, room * sizeof *modules);
        fits = modules != NULL;
        if (fits) {
            watch.modules = modules;
            watch.room = room;
        }
    }
    if (fits) {
        watch.modules[watch.n_modules++] = m;
        watch.bytes += m.image.size;
    } else {
        free(copy);
    }
    pthread_mutex_unlock(&watch.lock);
}

/* The handle that a loading call returned. */
static void on_loaded(enum owner_kind kind, void *handle, bool success)
{
    pthread_mutex_lock(&watch.lock);
    for (size_t i = 0; i < watch.n_modules; i++) {
        struct module *m = &watch.modules[i];
        if (m->kind == OWNER_PENDING && pthread_equal(m->loader, pthread_self())) {
            m->kind = success ? kind : OWNER_UNKNOWN;
            m->owner = handle;
        }
    }
    pthread_mutex_unlock(&watch.lock);
}

static void on_unloaded(enum owner_kind kind, const void *handle)
{
    pthread_mutex_lock(&watch.lock);
    for (size_t i = 0; i < watch.n_modules; i++)
        if (watch.modules[i].kind == kind && watch.modules[i].owner == handle)
            watch.modules[i].kind = OWNER_GONE;
    pthread_mutex_unlock(&watch.lock);
}

static void on_load_calls(uint32_t id, const void *params, bool success)
{
    switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoad:
        on_loaded(OWNER_MODULE, *((const cuModuleLoad_params *)params)->module, success);
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData:
        on_loaded(OWNER_MODULE, *((const cuModuleLoadData_params *)params)->module, success);
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx:
        on_loaded(OWNER_MODULE, *((const cuModuleLoadDataEx_params *)params)->module, success);
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary:
        on_loaded(OWNER_MODULE, *((const cuModuleLoadFatBinary_params *)params)->module, success);
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData:
        on_loaded(OWNER_LIBRARY, *((const cuLibraryLoadData_params *)params)->library, success);
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadFromFile:
        on_loaded(OWNER_LIBRARY, *((const cuLibraryLoadFromFile_params *)params)->library, success);
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuModuleUnload:
        on_unloaded(OWNER_MODULE, ((const cuModuleUnload_params *)params)->hmod);
        break;
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload:
        on_unloaded(OWNER_LIBRARY, ((const cuLibraryUnload_params *)params)->library);
        break;
    default:
        break;
    }
}

static bool is_launch(uint32_t id)
{
    switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunch:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
        return true;
    default:
        return false;
    }
}

static bool breaks_capture(CUresult result)
{
    return result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
           result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

static void count(uint32_t id, const CUpti_CallbackData *info, CUresult result)
{
    struct watch_seen *seen = &watch.seen;
    bool launch = is_launch(id);
    const char *kernel = launch && info->symbolName ? info->symbolName : "";
    pthread_mutex_lock(&watch.lock);
    if (!watch.counting) {
        pthread_mutex_unlock(&watch.lock);
        return;
    }
    if (result == CUDA_SUCCESS && launch) {
        seen->launches++;
    } else if (result == CUDA_SUCCESS && (id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch ||
                                          id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz)) {
        seen->graph_launches++;
    } else if (breaks_capture(result) && !seen->broken_by[0]) {
        snprintf(seen->broken_by, sizeof seen->broken_by, "%s",
                 info->functionName ? info->functionName : "a call");
        snprintf(seen->broken_kernel, sizeof seen->broken_kernel, "%s", kernel);
        seen->broken_result = result;
    } else if (launch && result != CUDA_SUCCESS && !breaks_capture(result) &&
               !seen->failed_launch[0]) {
        snprintf(seen->failed_launch, sizeof seen->failed_launch, "%s",
                 kernel[0] ? kernel : "a kernel");
        seen->failed_result = result;
    }
    pthread_mutex_unlock(&watch.lock);
}

static void CUPTIAPI on_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                 const void *data)
{
    (void)user;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
        const CUpti_ResourceData *resource = data;
        if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED)
            on_module(resource->resourceDescriptor);
        return;
    }
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API && domain != CUPTI_CB_DOMAIN_RUNTIME_API)
        return;
    const CUpti_CallbackData *info = data;
    if (info->callbackSite == CUPTI_API_ENTER)
        collector_push(LOG_DOMAIN_API, info->functionName);
    else
        collector_pop(LOG_DOMAIN_API);
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
        return;
    if (info->callbackSite == CUPTI_API_ENTER) {
        current.id = id;
        current.params = info->functionParams;
        return;
    }
    CUresult result =
        info->functionReturnValue ? *(const CUresult *)info->functionReturnValue : CUDA_SUCCESS;
    on_load_calls(id, info->functionParams, result == CUDA_SUCCESS);
    count(id, info, result);
    current.id = 0;
}

static const uint32_t loading_calls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoad,        CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData,
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx,  CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary,
    CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData,   CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadFromFile,
    CUPTI_DRIVER_TRACE_CBID_cuLibraryGetModule,  CUPTI_DRIVER_TRACE_CBID_cuLibraryGetKernel,
    CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction, CUPTI_DRIVER_TRACE_CBID_cuModuleUnload,
    CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload,     CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction,
};

static int cupti_fail(kgrade_error *err, CUptiResult result, const char *what)
{
    const char *text = NULL;
    cuptiGetResultString(result, &text);
    return fail(err, "device_failed",
                "Another profiler may be attached: only one can be at a time.", "%s: %s (%d).",
                what, text ? text : "unknown error", (int)result);
}

static CUptiResult enable_loading_calls(void)
{
    CUptiResult result = CUPTI_SUCCESS;
    for (size_t i = 0;
         i < sizeof loading_calls / sizeof loading_calls[0] && result == CUPTI_SUCCESS; i++)
        result =
            cuptiEnableCallback(1, watch.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, loading_calls[i]);
    return result;
}

int watch_open(kgrade_error *err)
{
    CUptiResult result = cuptiSubscribe(&watch.subscriber, on_callback, NULL);
    if (result != CUPTI_SUCCESS)
        return cupti_fail(err, result, "Subscribing to CUPTI");
    result = cuptiEnableCallback(1, watch.subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                                 CUPTI_CBID_RESOURCE_MODULE_LOADED);
    if (result == CUPTI_SUCCESS)
        result = enable_loading_calls();
    if (result != CUPTI_SUCCESS)
        return cupti_fail(err, result, "Asking CUPTI for the loading of modules");
    return 0;
}

void watch_all(bool all)
{
    CUptiResult result = cuptiEnableDomain(all, watch.subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
    if (result == CUPTI_SUCCESS && !all)
        result = enable_loading_calls();
    if (result != CUPTI_SUCCESS)
        driver_trace("CUPTI did not change what it reports (%d)", (int)result);
    /* A call that began before reporting changed does not end in it. */
    current.id = 0;
}

/* What CUPTI itself asks the driver, for the symbolName of every launch that it reports: nothing tells that from a
 * candidate's own question. */
static const uint32_t own_calls[] = {CUPTI_DRIVER_TRACE_CBID_cuKernelGetName,
                                     CUPTI_DRIVER_TRACE_CBID_cuFuncGetName};

void watch_profile(bool on)
{
    watch_all(on);
    CUptiResult result = cuptiEnableDomain(on, watch.subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
    for (size_t i = 0; on && i < sizeof own_calls / sizeof own_calls[0] && result == CUPTI_SUCCESS;
         i++)
        result = cuptiEnableCallback(0, watch.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, own_calls[i]);
    if (result != CUPTI_SUCCESS)
        driver_trace("CUPTI did not change what it reports of the runtime (%d)", (int)result);
}

void watch_forget(void)
{
    pthread_mutex_lock(&watch.lock);
    for (size_t i = 0; i < watch.n_modules; i++)
        watch.modules[i].kind = OWNER_GONE;
    pthread_mutex_unlock(&watch.lock);
}

void watch_begin_call(void)
{
    pthread_mutex_lock(&watch.lock);
    watch.seen = (struct watch_seen){0};
    watch.counting = true;
    pthread_mutex_unlock(&watch.lock);
}

/* A copy of the list: driver calls may load modules and call back here, so none is made while the list is locked. */
static struct module *copy_modules(size_t *ret_n)
{
    pthread_mutex_lock(&watch.lock);
    struct module *copy = malloc((watch.n_modules + 1) * sizeof *copy);
    *ret_n = copy ? watch.n_modules : 0;
    if (copy && *ret_n)
        memcpy(copy, watch.modules, *ret_n * sizeof *copy);
    pthread_mutex_unlock(&watch.lock);
    return copy;
}

/* Kernel handles are turned into those of their libraries while both are known to be alive. */
static void settle_owners(void)
{
    size_t n;
    cleanup_free struct module *modules = copy_modules(&n);
    for (size_t i = 0; i < n; i++) {
        CUlibrary library = NULL;
        if (modules[i].kind != OWNER_KERNEL)
            continue;
        bool known = cuKernelGetLibrary(&library, modules[i].owner) == CUDA_SUCCESS;
        pthread_mutex_lock(&watch.lock);
        /* The list only grows: an index stays what it is. */
        watch.modules[i].kind = known ? OWNER_LIBRARY : OWNER_UNKNOWN;
        watch.modules[i].owner = library;
        pthread_mutex_unlock(&watch.lock);
    }
}

void watch_end_call(struct watch_seen *ret)
{
    pthread_mutex_lock(&watch.lock);
    watch.counting = false;
    *ret = watch.seen;
    pthread_mutex_unlock(&watch.lock);
    settle_owners();
}

static bool same_image(const struct module *a, const struct module *b)
{
    return a->image.size == b->image.size && !memcmp(a->image.data, b->image.data, a->image.size);
}

enum ownership { OWNS, OWNS_NOT, MAY_OWN };

static enum ownership ownership(const struct module *m, CUmodule module, CUlibrary library)
{
    CUmodule of_library = NULL;
    if (m->kind == OWNER_MODULE)
        return m->owner == module ? OWNS : OWNS_NOT;
    if (m->kind != OWNER_LIBRARY)
        return MAY_OWN;
    if (library && m->owner == library)
        return OWNS;
    if (cuLibraryGetModule(&of_library, m->owner) != CUDA_SUCCESS)
        return MAY_OWN;
    return of_library == module ? OWNS : OWNS_NOT;
}

/* Images seen so far, and whether they were different ones. */
struct guess {
    const struct module *first;
    bool is_ambiguous;
};

static void consider(struct guess *guess, const struct module *m)
{
    if (guess->first && !same_image(guess->first, m))
        guess->is_ambiguous = true;
    guess->first = m;
}

/* Images are large, and found in every call that is recorded: each is hashed once. */
static void give(const struct module *m, size_t index, struct watch_image *ret)
{
    *ret = m->image;
    if (ret->hash[0])
        return;
    hash_hex(ret->data, ret->size, ret->hash);
    pthread_mutex_lock(&watch.lock);
    /* The list only grows: an index stays what it is. */
    memcpy(watch.modules[index].image.hash, ret->hash, HASH_HEX);
    pthread_mutex_unlock(&watch.lock);
}

/* Without a known owner, a name that only one image defines is as good; a name that several define is not. */
enum watch_match watch_find(CUmodule module, CUkernel kernel, const char *name,
                            struct watch_image *ret)
{
    size_t n;
    cleanup_free struct module *modules = copy_modules(&n);
    CUlibrary library = NULL;
    struct guess any = {NULL, false}, possible = {NULL, false};
    if (kernel && cuKernelGetLibrary(&library, kernel) != CUDA_SUCCESS)
        library = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct module *m = &modules[i];
        if (!m->is_cubin || m->kind == OWNER_GONE || !cubin_has_kernel(&m->image.cubin, name))
            continue;
        enum ownership owns = ownership(m, module, library);
        if (owns == OWNS) {
            give(m, i, ret);
            return WATCH_FOUND;
        }
        consider(&any, m);
        if (owns == MAY_OWN)
            consider(&possible, m);
    }
    const struct guess *best = any.is_ambiguous ? &possible : &any;
    if (!any.first)
        return WATCH_UNKNOWN;
    if (!best->first || best->is_ambiguous)
        return WATCH_AMBIGUOUS;
    driver_trace("the owner of %s is not known; one image defines it", name);
    give(best->first, (size_t)(best->first - modules), ret);
    return WATCH_FOUND;
}
