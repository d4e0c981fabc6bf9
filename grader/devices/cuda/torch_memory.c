/*
 * PyTorch's allocator for candidates in Python: each tensor is an allocation of its own, served from the workspace as all
 * are (hooks.c).  PyTorch's own would ask for large pieces and keep them.
 *
 * As there, what a stream's work is done with serves the same stream at once, so that a call of many operators works in the
 * memory, and so in the parts of the cache, that it would have without us.  Nothing is kept from one call to the next.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "hooks.h"

#define EXPORT __attribute__((visibility("default")))
#define MAX_KEPT 256u

EXPORT void *kgrade_torch_allocate(ssize_t size, int device, CUstream stream);
EXPORT void kgrade_torch_free(void *address, ssize_t size, int device, CUstream stream);

/* A block that was freed; size as it was asked for. */
struct kept {
    CUdeviceptr address;
    ssize_t size;
    CUstream stream;
};

static struct {
    pthread_mutex_t lock;
    struct kept blocks[MAX_KEPT]; /* the last one freed comes last */
    size_t n;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void give_back_kept(void)
{
    pthread_mutex_lock(&cache.lock);
    for (size_t i = 0; i < cache.n; i++)
        cuMemFree(cache.blocks[i].address);
    cache.n = 0;
    pthread_mutex_unlock(&cache.lock);
}

__attribute__((constructor)) static void register_cache(void)
{
    hooks_at_calls(give_back_kept);
}

/* 0: none fits. */
static CUdeviceptr take_kept(ssize_t size, CUstream stream)
{
    CUdeviceptr address = 0;
    pthread_mutex_lock(&cache.lock);
    for (size_t i = cache.n; i > 0 && !address; i--) {
        if (cache.blocks[i - 1].size != size || cache.blocks[i - 1].stream != stream)
            continue;
        address = cache.blocks[i - 1].address;
        memmove(&cache.blocks[i - 1], &cache.blocks[i], (cache.n - i) * sizeof cache.blocks[0]);
        cache.n--;
    }
    pthread_mutex_unlock(&cache.lock);
    return address;
}

static bool keep(CUdeviceptr address, ssize_t size, CUstream stream)
{
    pthread_mutex_lock(&cache.lock);
    bool fits = cache.n < MAX_KEPT;
    if (fits)
        cache.blocks[cache.n++] = (struct kept){address, size, stream};
    pthread_mutex_unlock(&cache.lock);
    return fits;
}

/* Throws std::bad_alloc, by the C++ library that PyTorch has loaded: it takes whatever is returned for an address, and only an
 * exception for a failure. */
static void throw_bad_alloc(void)
{
    void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_NOLOAD);
    void *symbol = library ? dlsym(library, "_ZSt17__throw_bad_allocv") : NULL;
    void (*throw)(void);
    memcpy(&throw, &symbol, sizeof throw);
    if (throw)
        throw();
}

void *kgrade_torch_allocate(ssize_t size, int device, CUstream stream)
{
    (void)device;
    size_t room = 0, total = 0;
    CUdeviceptr address = take_kept(size, stream);
    if (address)
        return (void *)(uintptr_t)address;
    if (cuMemGetInfo(&room, &total) != CUDA_SUCCESS || room < (size_t)size)
        give_back_kept();
    if (cuMemAlloc(&address, (size_t)size) != CUDA_SUCCESS)
        throw_bad_alloc();
    return (void *)(uintptr_t)address;
}

void kgrade_torch_free(void *address, ssize_t size, int device, CUstream stream)
{
    (void)device;
    CUdeviceptr block = (CUdeviceptr)(uintptr_t)address;
    if (!keep(block, size, stream))
        cuMemFree(block);
}
