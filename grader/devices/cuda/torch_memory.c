/* PyTorch's allocator for candidates in Python: each tensor is an allocation of its own, served from the workspace as all
 * are (hooks.c).  PyTorch's own would ask for large pieces and keep them. */
#include <cuda.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void *kgrade_torch_allocate(ssize_t size, int device, CUstream stream);
EXPORT void kgrade_torch_free(void *address, ssize_t size, int device, CUstream stream);

void *kgrade_torch_allocate(ssize_t size, int device, CUstream stream)
{
    (void)device;
    (void)stream;
    CUdeviceptr address = 0;
    return cuMemAlloc(&address, (size_t)size) == CUDA_SUCCESS ? (void *)(uintptr_t)address : NULL;
}

void kgrade_torch_free(void *address, ssize_t size, int device, CUstream stream)
{
    (void)size;
    (void)device;
    (void)stream;
    cuMemFree((CUdeviceptr)(uintptr_t)address);
}
