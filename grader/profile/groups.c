#include "groups.h"

#include <string.h>

struct rule {
    const char *prefix; /* with a trailing '$': the whole name */
    const char *group;
};

#define SUBMIT "backend.submit"
#define MEMORY "backend.memory"
#define MODULE "backend.module"
#define SYNC "backend.sync"
#define QUERY "backend.query"

/* The first that fits holds. */
static const struct rule rules[] = {
    {"clEnqueueReadBuffer$", MEMORY},
    {"clEnqueueWriteBuffer$", MEMORY},
    {"clEnqueueMapBuffer$", MEMORY},
    {"clEnqueueUnmapMemObject$", MEMORY},
    {"clEnqueue", SUBMIT},
    {"clSetKernelArg", SUBMIT},
    {"clFlush", SUBMIT},
    {"clCreateBuffer", MEMORY},
    {"clRetainMemObject", MEMORY},
    {"clReleaseMemObject", MEMORY},
    {"clFinish", SYNC},
    {"clWaitForEvents", SYNC},
    {"clCreateUserEvent", SYNC},
    {"clSetUserEventStatus", SYNC},
    {"clRetainEvent", SYNC},
    {"clReleaseEvent", SYNC},
    {"clCreate", MODULE},
    {"clBuild", MODULE},
    {"clRetain", MODULE},
    {"clRelease", MODULE},

    {"cuLaunch", SUBMIT},
    {"cudaLaunch", SUBMIT},
    {"cuGraphLaunch", SUBMIT},
    {"cudaGraphLaunch", SUBMIT},
    {"cuMemcpy", SUBMIT},
    {"cudaMemcpy", SUBMIT},
    {"cuMemset", SUBMIT},
    {"cudaMemset", SUBMIT},
    {"cudaConfigureCall", SUBMIT},
    {"cudaPushCallConfiguration", SUBMIT},
    {"__cudaPushCallConfiguration", SUBMIT},
    {"cudaPopCallConfiguration", SUBMIT},
    {"__cudaPopCallConfiguration", SUBMIT},
    {"cuMemGet", QUERY},
    {"cudaMemGet", QUERY},
    {"cuMem", MEMORY},
    {"cudaMalloc", MEMORY},
    {"cudaFree", MEMORY},
    {"cudaHostAlloc", MEMORY},
    {"cudaHostRegister", MEMORY},
    {"cudaHostUnregister", MEMORY},
    {"cudaMem", MEMORY},
    {"cuModule", MODULE},
    {"cuLibrary", MODULE},
    {"cuKernelGetFunction", MODULE},
    {"cuLink", MODULE},
    {"cudaLibrary", MODULE},
    {"cudaGetFuncBySymbol", MODULE},
    {"cuCtxSynchronize", SYNC},
    {"cuStreamSynchronize", SYNC},
    {"cuStreamWait", SYNC},
    {"cuStreamQuery", SYNC},
    {"cuEvent", SYNC},
    {"cudaDeviceSynchronize", SYNC},
    {"cudaStreamSynchronize", SYNC},
    {"cudaStreamWait", SYNC},
    {"cudaStreamQuery", SYNC},
    {"cudaThreadSynchronize", SYNC},
    {"cudaEvent", SYNC},
};

static bool fits(const char *prefix, const char *function)
{
    size_t n = strcspn(prefix, "$");
    return !strncmp(prefix, function, n) && (!prefix[n] || !function[n]);
}

const char *groups_of(const char *function)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (fits(rules[i].prefix, function))
            return rules[i].group;
    return QUERY;
}

bool groups_is_launch(const char *function)
{
    return !strcmp(function, "clEnqueueNDRangeKernel") || !strncmp(function, "cuLaunch", 8);
}
