/*
 * Functions that candidates may expect and a recording has no place for.  Calling one is a refusal that says so; without them a
 * candidate that only has them in a branch it never takes could not be loaded.  What is not here and not in the other files cannot
 * be linked, and the loader names it.
 */
#define _GNU_SOURCE
#include "entry.h"

static hip_error refuse(const char *name, const char *code, const char *hint)
{
    ENTRY_LOCK();
    capture_refuse(code, hint, "The candidate called %s, which has no place in a recording.", name);
    return entry_done(HIP_ERROR_NOT_SUPPORTED);
}

/* Without parameters: whatever the caller passes stays where it is. */
#define REFUSED(name, code, hint)                                                                  \
    ENTRY(hip_error, name, (void))                                                                 \
    {                                                                                              \
        return refuse(#name, code, hint);                                                          \
    }

#define HOST_NODE "Do the work on the device."
REFUSED(hipLaunchHostFunc, "host_node", HOST_NODE)
REFUSED(hipStreamAddCallback, "host_node", HOST_NODE)

#define GRAPH "Launch the kernels themselves: the recording makes a graph of them."
REFUSED(hipStreamBeginCapture, "graph_launch", GRAPH)
REFUSED(hipStreamEndCapture, "graph_launch", GRAPH)
REFUSED(hipGraphCreate, "graph_launch", GRAPH)
REFUSED(hipGraphInstantiate, "graph_launch", GRAPH)
REFUSED(hipGraphInstantiateWithFlags, "graph_launch", GRAPH)
REFUSED(hipGraphLaunch, "graph_launch", GRAPH)
REFUSED(hipGraphDestroy, "graph_launch", GRAPH)
REFUSED(hipGraphExecDestroy, "graph_launch", GRAPH)

#define HOST_MEMORY "Use hipMalloc, and fill the memory in the first call."
REFUSED(hipMallocManaged, "host_memory", HOST_MEMORY)
REFUSED(hipHostMalloc, "host_memory", HOST_MEMORY)
REFUSED(hipMallocHost, "host_memory", HOST_MEMORY)
REFUSED(hipHostAlloc, "host_memory", HOST_MEMORY)
REFUSED(hipHostFree, "host_memory", HOST_MEMORY)
REFUSED(hipHostRegister, "host_memory", HOST_MEMORY)
REFUSED(hipHostUnregister, "host_memory", HOST_MEMORY)
REFUSED(hipHostGetDevicePointer, "host_memory", HOST_MEMORY)
REFUSED(__hipRegisterManagedVar, "host_memory", HOST_MEMORY)

#define UNSUPPORTED "Use kernel launches, linear memory and copies on the device."
REFUSED(hipLaunchCooperativeKernel, "unsupported_call", UNSUPPORTED)
REFUSED(hipModuleLaunchCooperativeKernel, "unsupported_call", UNSUPPORTED)
REFUSED(hipExtLaunchKernel, "unsupported_call", UNSUPPORTED)
REFUSED(hipExtModuleLaunchKernel, "unsupported_call", UNSUPPORTED)
REFUSED(hipModuleLoad, "unsupported_call", UNSUPPORTED)
REFUSED(hipDeviceReset, "unsupported_call", UNSUPPORTED)
REFUSED(hipMallocPitch, "unsupported_call", UNSUPPORTED)
REFUSED(hipMalloc3D, "unsupported_call", UNSUPPORTED)
REFUSED(hipMallocArray, "unsupported_call", UNSUPPORTED)
REFUSED(hipMemcpy2D, "unsupported_call", UNSUPPORTED)
REFUSED(hipMemcpy2DAsync, "unsupported_call", UNSUPPORTED)
REFUSED(hipMemcpy3D, "unsupported_call", UNSUPPORTED)
REFUSED(hipMemcpy3DAsync, "unsupported_call", UNSUPPORTED)
REFUSED(hipMemcpyPeer, "unsupported_call", UNSUPPORTED)
REFUSED(hipMemcpyPeerAsync, "unsupported_call", UNSUPPORTED)
REFUSED(hipCreateTextureObject, "unsupported_call", UNSUPPORTED)
REFUSED(hipDestroyTextureObject, "unsupported_call", UNSUPPORTED)
REFUSED(__hipRegisterTexture, "unsupported_call", UNSUPPORTED)
REFUSED(__hipRegisterSurface, "unsupported_call", UNSUPPORTED)
REFUSED(hipStreamWriteValue32, "unsupported_call", UNSUPPORTED)
REFUSED(hipStreamWriteValue64, "unsupported_call", UNSUPPORTED)
REFUSED(hipStreamWaitValue32, "unsupported_call", UNSUPPORTED)
REFUSED(hipStreamWaitValue64, "unsupported_call", UNSUPPORTED)
