/*
 * Planted costs, each call: 5 us of computing in a range of its own, a buffer made and given back, three
 * questions about the device, ten launches.  One of its ranges is in a domain, one is ended by its number.
 */
#include <CL/cl.h>
#include <time.h>

#include "nvtx_client.h"

#define SPIN_NS 5000
#define QUERIES 3
#define LAUNCHES 10

static const char source[] =
    "kernel void add(global const float *a, global const float *b, global float *c)"
    "{ size_t i = get_global_id(0); c[i] = a[i] + b[i]; }";

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void spin(void)
{
    nvtxRangePushA("planted.spin");
    long long end = now() + SPIN_NS;
    while (now() < end)
        ;
    nvtxRangePop();
}

static void in_domain(void)
{
    static nvtxDomainHandle_t domain;
    if (!domain)
        domain = nvtxDomainCreateA("planted");
    nvtxEventAttributes_t a = {.version = NVTX_VERSION,
                               .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                               .messageType = NVTX_MESSAGE_TYPE_ASCII,
                               .message.ascii = "planted.domain"};
    nvtxDomainRangePushEx(domain, &a);
    nvtxRangeId_t id = nvtxRangeStartA("planted.numbered");
    nvtxRangeEnd(id);
    nvtxDomainRangePop(domain);
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    static cl_context context;
    static cl_device_id device;
    if (!kernel) {
        const char *text = source;
        clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
        clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
        cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
        clBuildProgram(program, 1, &device, "", NULL, NULL);
        kernel = clCreateKernel(program, "add", NULL);
        clSetKernelArg(kernel, 0, sizeof a, &a);
        clSetKernelArg(kernel, 1, sizeof b, &b);
        clSetKernelArg(kernel, 2, sizeof c, &c);
    }
    spin();
    in_domain();
    clReleaseMemObject(clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, NULL));
    for (int i = 0; i < QUERIES; i++) {
        cl_uint units;
        clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    }
    size_t global = (size_t)n;
    for (int i = 0; i < LAUNCHES; i++)
        clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL);
}
