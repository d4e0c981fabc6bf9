/*
 * A candidate for the task vector_add: c[i] = a[i] + b[i] for n floats.
 *
 * One work-item per element, which the compiler of a CPU device turns into vector instructions
 * across the work-group.  The group's size is given: left to the runtime it must divide the global
 * size, and some sizes have no good divisor.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#define GROUP 1024

static const char source[] =
    "kernel void add(global const float *restrict a, global const float *restrict b,\n"
    "                global float *restrict c, int n)\n"
    "{\n"
    "    int i = get_global_id(0);\n"
    "    if (i < n)\n"
    "        c[i] = a[i] + b[i];\n"
    "}\n";

/* Building takes long and depends on nothing in a call: do it once. */
static cl_kernel build(cl_command_queue queue)
{
    cl_context context;
    cl_device_id device;
    if (clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL) ||
        clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL))
        return NULL;
    const char *text = source;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    if (!program || clBuildProgram(program, 1, &device, "", NULL, NULL))
        return NULL;
    return clCreateKernel(program, "add", NULL);
}

void vector_add(cl_mem a, cl_mem b, cl_mem c, int n, cl_command_queue queue)
{
    static cl_kernel kernel;
    if (!kernel)
        kernel = build(queue);
    if (!kernel)
        return;
    clSetKernelArg(kernel, 0, sizeof a, &a);
    clSetKernelArg(kernel, 1, sizeof b, &b);
    clSetKernelArg(kernel, 2, sizeof c, &c);
    clSetKernelArg(kernel, 3, sizeof n, &n);
    size_t local = GROUP, global = ((size_t)n + GROUP - 1) / GROUP * GROUP;
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL);
}
