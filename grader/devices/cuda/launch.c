#include "launch.h"

#include <stdio.h>

/* The compiled kernels for every architecture that is supported, as the build made them. */
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".globl kgrade_cuda_kernels\n"
        ".hidden kgrade_cuda_kernels\n"
        "kgrade_cuda_kernels:\n"
        ".incbin \"" KGRADE_CUDA_KERNELS "\"\n"
        ".balign 16\n"
        ".quad 0\n"
        ".previous\n");
extern const unsigned char kgrade_cuda_kernels[];

/* The device's multiprocessors are given this many blocks each; more only queue up. */
#define BLOCKS_PER_PROCESSOR 8u

static const char *const names[KERNEL_COUNT] = {
    [KERNEL_FILL] = "kgrade_fill",     [KERNEL_POISON] = "kgrade_poison",
    [KERNEL_CANARY] = "kgrade_canary", [KERNEL_RESTORE] = "kgrade_restore",
    [KERNEL_EVICT] = "kgrade_evict",   [KERNEL_GATE] = "kgrade_gate",
    [KERNEL_STOP] = "kgrade_stop",     [KERNEL_TICKS] = "kgrade_ticks",
    [KERNEL_COPY] = "kgrade_copy",     [KERNEL_FMA] = "kgrade_fma",
    [KERNEL_MMA] = "kgrade_mma",       [KERNEL_WGMMA] = "kgrade_wgmma",
};

int kernels_open(struct kernels *ret, const struct driver_context *context, kgrade_error *err)
{
    struct kernels k = {0};
    DRIVER_TRY(err, cuModuleLoadData(&k.module, kgrade_cuda_kernels));
    for (int i = 0; i < KERNEL_COUNT; i++) {
        CUresult result = cuModuleGetFunction(&k.functions[i], k.module, names[i]);
        if (result != CUDA_SUCCESS) {
            cuModuleUnload(k.module);
            return driver_fail(err, "device_failed", result, names[i]);
        }
    }
    k.processors =
        (unsigned int)driver_attribute(context, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    if (k.processors == 0)
        k.processors = 1;
    *ret = k;
    return 0;
}

void kernels_close(struct kernels *kernels)
{
    if (kernels->module)
        cuModuleUnload(kernels->module);
    *kernels = (struct kernels){0};
}

unsigned int kernels_blocks(const struct kernels *kernels, uint64_t chunks)
{
    uint64_t wanted = (chunks + KERNELS_THREADS - 1) / KERNELS_THREADS,
             most = kernels->processors * BLOCKS_PER_PROCESSOR;
    if (wanted == 0)
        return 1;
    return (unsigned int)(wanted < most ? wanted : most);
}

int kernels_launch(const struct kernels *kernels, enum kernel_id id, unsigned int blocks,
                   unsigned int threads, struct launch_target *target, void **arguments,
                   kgrade_error *err)
{
    CUfunction function = kernels->functions[id];
    CUresult result;
    if (target->graph) {
        CUDA_KERNEL_NODE_PARAMS params = {
            .func = function,
            .gridDimX = blocks,
            .gridDimY = 1,
            .gridDimZ = 1,
            .blockDimX = threads,
            .blockDimY = 1,
            .blockDimZ = 1,
            .kernelParams = arguments,
        };
        CUgraphNode node = NULL;
        result = cuGraphAddKernelNode(&node, target->graph, &target->last, target->last ? 1 : 0,
                                      &params);
        target->last = node;
    } else {
        result = cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, target->stream, arguments,
                                NULL);
    }
    return result == CUDA_SUCCESS ? 0 : driver_fail(err, "device_failed", result, names[id]);
}
